extends Reference
# An HTTP request and its outcome. The worker owns it until `finished`.

# Emitted in the main loop.
signal finished

var host := ""
var port := 0
var is_tls := false
var method := HTTPClient.METHOD_GET
# Path and query.
var target := ""
var headers := PoolStringArray()
var body := ""
var timeout_ms := 0

# 0: there was no answer.
var status := 0
# By names in lower case.
var answer_headers := {}
var text := ""
# `network`, `timeout` or `unexpected_answer`; `ended` when the game quits; an empty text if there is an answer.
var failure := ""
var failure_message := ""


func fail(code: String, message: String) -> void:
	status = 0
	failure = code
	failure_message = message
