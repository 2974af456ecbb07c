extends Reference
# A failed call. Branch on `code`.

# A code of Laurel (docs/errors.md of its repository), or one of the client:
# network               no answer: no connection, or it broke. The request may have been processed
# timeout               no answer in time. The request may have been processed
# unexpected_answer     the answer is not one of Laurel, such as the error page of a proxy
# invalid_call          the client was called wrongly; `message` names the option
# queue_full            the queue holds as many events as it may
# idempotency_key_reused  the idempotency key is in the queue with another event
# not_stored            the queue's folder cannot be written
# unreadable_event      a file of the queue is damaged; it was renamed to `….broken`
# queue_closed          `configure` was called again; the event stays in the queue
var code: String
# For a person.
var message: String
# The HTTP status; 0 if there was no answer.
var status := 0
# What may help, for a person.
var hint := ""
# ID of the request in Laurel's log.
var request_id := ""
# How long Laurel asks to wait, in milliseconds; 0 if it does not ask.
var retry_after_ms := 0
# With `insufficient_balance`: what the user can spend.
var balance = null


func _init(error_code: String, error_message: String, http_status := 0) -> void:
	code = error_code
	message = error_message
	status = http_status


# Whether the same request may succeed later. It may already have been processed, so repeat it with the same
# idempotency key.
func is_transient() -> bool:
	return code == "network" or code == "timeout" or status == 408 or status == 429 or status >= 500


func _to_string() -> String:
	return "%s: %s" % [code, message]
