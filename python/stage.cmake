# The package's Python files, linked into the build tree beside the libraries: <build>/stage then works like an
# installed wheel (PYTHONPATH=<build>/stage TF_PLUGGABLE_DEVICE_LIBRARY_PATH=<build>/stage/tensorflow-plugins/...).
set(python_root ${CMAKE_CURRENT_LIST_DIR})
file(GLOB_RECURSE python_files CONFIGURE_DEPENDS RELATIVE ${python_root} ${python_root}/mychip/*.py ${python_root}/mychip/py.typed)
foreach(file IN LISTS python_files)
  get_filename_component(folder ${file} DIRECTORY)
  file(MAKE_DIRECTORY ${MYCHIP_STAGE}/${folder})
  file(CREATE_LINK ${python_root}/${file} ${MYCHIP_STAGE}/${file} SYMBOLIC)
endforeach()
