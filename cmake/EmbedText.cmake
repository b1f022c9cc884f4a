# cmake -DINPUT=file -DOUTPUT=file.inc -P EmbedText.cmake: the file as one C++ raw string literal.
file(READ ${INPUT} text)
file(WRITE ${OUTPUT} "R\"longwave(${text})longwave\"\n")
