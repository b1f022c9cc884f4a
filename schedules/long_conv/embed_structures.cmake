# cmake -DINPUTS="a.json;b.json" -DOUTPUT=file.inc -P embed_structures.cmake: {"a": …, "b": …} as
# one C++ raw string literal.
set(text "")
foreach(input IN LISTS INPUTS)
  get_filename_component(name "${input}" NAME_WLE)
  file(READ "${input}" part)
  if(text)
    string(APPEND text ",\n")
  endif()
  string(APPEND text "\"${name}\": ${part}")
endforeach()
file(WRITE "${OUTPUT}" "R\"longwave({${text}})longwave\"\n")
