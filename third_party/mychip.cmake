# Settings every target of ours shares. mychip_sources(VAR) lists the folder's own .cc files.
add_library(mychip_flags INTERFACE)
target_compile_options(mychip_flags INTERFACE -Wall -Wextra -Werror -Wno-missing-field-initializers -ffp-contract=off)
target_link_libraries(mychip_flags INTERFACE Threads::Threads ${CMAKE_DL_LIBS})
if(MYCHIP_SANITIZE)
  target_compile_options(mychip_flags INTERFACE -fsanitize=${MYCHIP_SANITIZE} -fno-omit-frame-pointer -g)
  target_link_options(mychip_flags INTERFACE -fsanitize=${MYCHIP_SANITIZE})
endif()

function(mychip_sources out)
  file(GLOB sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/*.cc)
  set(${out} ${sources} PARENT_SCOPE)
endfunction()

# Where each library lands in the wheel, and in the build tree laid out the same way.
set(MYCHIP_STAGE ${CMAKE_BINARY_DIR}/stage)
