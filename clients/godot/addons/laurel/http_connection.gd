extends Reference
# A connection that is kept open between requests, one request at a time. The engine's HTTPRequest node would open one,
# with a TLS handshake, for each request, and receive 4 KB of an answer in a frame.

const MOST_BYTES := 16 * 1024 * 1024
const READ_BYTES := 65536

# The request in progress; null if the connection is free.
var exchange = null

var _client := HTTPClient.new()
var _server := ""
var _deadline_ms := 0
var _is_sent := false
# Whether the body ends where the connection ends.
var _is_until_end := false
var _body := PoolByteArray()


func _init() -> void:
	_client.read_chunk_size = READ_BYTES


# Whether it was last used for the server of a request.
func suits(request) -> bool:
	return _server == _server_of(request)


func start(request) -> void:
	exchange = request
	_deadline_ms = OS.get_ticks_msec() + request.timeout_ms
	_is_sent = false
	_is_until_end = false
	_body = PoolByteArray()
	# Notices that the server has closed the connection.
	if suits(request) and _client.get_status() == HTTPClient.STATUS_CONNECTED:
		var _error := _client.poll()
	if not suits(request) or _client.get_status() != HTTPClient.STATUS_CONNECTED:
		_client.close()
		_server = _server_of(request)
		if _client.connect_to_host(request.host, request.port, request.is_tls, request.is_tls) != OK:
			_fail("network", "cannot connect to %s" % _server)


# Advances the request. Returns it if it has an outcome, otherwise null.
func step():
	if exchange != null and exchange.failure == "" and not _advance():
		if OS.get_ticks_msec() < _deadline_ms:
			return null
		_fail("timeout", "No answer within %d ms." % exchange.timeout_ms)
	var request = exchange
	exchange = null
	return request


# True if there is an outcome.
func _advance() -> bool:
	var _error := _client.poll()
	match _client.get_status():
		HTTPClient.STATUS_RESOLVING, HTTPClient.STATUS_CONNECTING, HTTPClient.STATUS_REQUESTING:
			return false
		HTTPClient.STATUS_CONNECTED:
			if _is_sent:
				# An answer without a body.
				_read_head()
				return _succeed()
			_is_sent = true
			var path: String = exchange.target
			return (
				_client.request(exchange.method, path, exchange.headers, exchange.body) != OK
				and _fail("network", "The request cannot be sent.")
			)
		HTTPClient.STATUS_BODY:
			return _read_body()
	return _fail("network", _problem())


func _read_head() -> void:
	if exchange.status != 0:
		return
	exchange.status = _client.get_response_code()
	_is_until_end = not _client.is_response_chunked() and _client.get_response_body_length() < 0
	var headers := _client.get_response_headers_as_dictionary()
	for name in headers:
		exchange.answer_headers[name.to_lower()] = headers[name]


func _read_body() -> bool:
	_read_head()
	while _client.get_status() == HTTPClient.STATUS_BODY:
		var chunk := _client.read_response_body_chunk()
		if chunk.size() == 0:
			break
		_body.append_array(chunk)
		if _body.size() > MOST_BYTES:
			return _fail("unexpected_answer", "The answer has more than %d bytes." % MOST_BYTES)
	match _client.get_status():
		HTTPClient.STATUS_BODY:
			return false
		HTTPClient.STATUS_CONNECTED:
			return _succeed()
	return _succeed() if _is_until_end else _fail("network", "The answer is incomplete.")


func _succeed() -> bool:
	exchange.text = _body.get_string_from_utf8()
	return true


func _fail(code: String, message: String) -> bool:
	_client.close()
	exchange.fail(code, message)
	return true


func _problem() -> String:
	match _client.get_status():
		HTTPClient.STATUS_CANT_RESOLVE:
			return "The name %s has no address." % exchange.host
		HTTPClient.STATUS_CANT_CONNECT:
			return "Cannot connect to %s." % _server
		HTTPClient.STATUS_SSL_HANDSHAKE_ERROR:
			return "%s has no certificate that this game trusts." % _server
	return "The connection broke."


static func _server_of(request) -> String:
	return "%s://%s:%d" % ["https" if request.is_tls else "http", request.host, request.port]
