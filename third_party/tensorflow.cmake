# The TensorFlow wheel that the building Python sees: headers and the two shared libraries.
find_package(Python 3.10 COMPONENTS Interpreter REQUIRED)
execute_process(
  COMMAND ${Python_EXECUTABLE} -c
    "import importlib.util as u, importlib.metadata as m, os\np = os.path.dirname(u.find_spec('tensorflow').origin)\nprint(p + ';' + next(m.version(n) for n in ('tensorflow-cpu', 'tensorflow') if n in {d.metadata['Name'].replace('_', '-') for d in m.distributions()}))"
  OUTPUT_VARIABLE tensorflow_found OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
list(GET tensorflow_found 0 MYCHIP_TENSORFLOW_DIR)
list(GET tensorflow_found 1 MYCHIP_TENSORFLOW_VERSION)
if(NOT MYCHIP_TENSORFLOW_VERSION MATCHES "^2\\.21\\.")
  message(FATAL_ERROR "MYCHIP builds against TensorFlow 2.21, found ${MYCHIP_TENSORFLOW_VERSION}")
endif()
message(STATUS "TensorFlow ${MYCHIP_TENSORFLOW_VERSION} in ${MYCHIP_TENSORFLOW_DIR}")

# C API headers only: cheap, no C++ symbol.
add_library(tensorflow_c INTERFACE)
target_include_directories(tensorflow_c SYSTEM INTERFACE ${MYCHIP_TENSORFLOW_DIR}/include)
target_link_directories(tensorflow_c INTERFACE ${MYCHIP_TENSORFLOW_DIR})
target_link_libraries(tensorflow_c INTERFACE -l:libtensorflow_framework.so.2)

# TensorFlow's and XLA's C++: bridge/, xla_backend/passes and xla_backend/codegen only.
add_library(tensorflow_cc INTERFACE)
target_include_directories(tensorflow_cc SYSTEM BEFORE INTERFACE ${CMAKE_CURRENT_LIST_DIR}/mlir_forward)
target_include_directories(tensorflow_cc SYSTEM INTERFACE
  ${MYCHIP_TENSORFLOW_DIR}/include
  ${MYCHIP_TENSORFLOW_DIR}/include/external/highwayhash
  ${MYCHIP_TENSORFLOW_DIR}/include/external/farmhash_archive/src)
target_compile_definitions(tensorflow_cc INTERFACE _GLIBCXX_USE_CXX11_ABI=1 EIGEN_MPL2_ONLY EIGEN_MAX_ALIGN_BYTES=64)
target_link_directories(tensorflow_cc INTERFACE ${MYCHIP_TENSORFLOW_DIR})
target_link_libraries(tensorflow_cc INTERFACE -l:libtensorflow_cc.so.2 -l:libtensorflow_framework.so.2)
