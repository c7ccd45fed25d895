# nbx_pack(NAME SOURCES...): a shared library packs/NAME.so beside the command, where the command looks for packs.
function(nbx_pack name)
  add_library(${name} MODULE ${ARGN})
  target_link_libraries(${name} PRIVATE nbx_options)
  set_target_properties(${name} PROPERTIES PREFIX "" SUFFIX ".so" LIBRARY_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/packs")
endfunction()

# nbx_pack_units(NAME TARGETS... LINK...): packs/NAME.units.json says how the pack is built, for the bisect: the objects of
# the targets, and what else linking takes (reports/bisect/units.hpp).
function(nbx_pack_units name)
  cmake_parse_arguments(ARG "" "" "TARGETS;LINK" ${ARGN})
  foreach(target ${ARG_TARGETS})
    list(APPEND objects "$<TARGET_OBJECTS:${target}>")
  endforeach()
  list(TRANSFORM ARG_LINK REPLACE "(.+)" "\"\\1\"")
  list(JOIN ARG_LINK ", " link)
  file(GENERATE OUTPUT "${PROJECT_BINARY_DIR}/packs/${name}.units.json" CONTENT
    "{\"compile_commands\": \"${PROJECT_BINARY_DIR}/compile_commands.json\",\n \"link\": [${link}],\n \"objects\": [\n  \"$<JOIN:${objects},\",\n  \">\"]}\n")
endfunction()

# nbx_test(FOLDER SOURCES... LIBRARIES...): one GoogleTest binary per folder, its cases known to ctest one by one.
function(nbx_test name)
  cmake_parse_arguments(ARG "" "" "SOURCES;LIBRARIES" ${ARGN})
  add_executable(test_${name} ${ARG_SOURCES})
  target_link_libraries(test_${name} PRIVATE nbx_options ${ARG_LIBRARIES} GTest::gtest_main GTest::gmock)
  gtest_discover_tests(test_${name} TEST_PREFIX "${name}." DISCOVERY_TIMEOUT 60 PROPERTIES TIMEOUT 600)
endfunction()
