extends Reference
# Sends HTTP requests, several at a time, on a thread. In the main loop, the engine's HTTPClient and HTTPRequest stop
# the game while the name of the server is looked up (the resolver holds its lock), and while a body is written to a
# full connection. Exports without threads, such as those for browsers, send in the main loop.

const Connection := preload("http_connection.gd")

const MOST_CONNECTIONS := 4
const PAUSE_MS := 2

var _thread = null
var _mutex := Mutex.new()
var _work := Semaphore.new()
# Guarded by the mutex: requests that no connection has yet, those with an outcome, and the end.
var _waiting := []
var _finished := []
var _is_ending := false
# Used by one thread only.
var _connections := []


func _init() -> void:
	if not OS.can_use_threads():
		return
	_thread = Thread.new()
	if _thread.start(self, "_run") != OK:
		_thread = null


# Takes a request; `finished` of it is emitted by a later `poll`.
func send(exchange) -> void:
	_mutex.lock()
	_waiting.append(exchange)
	_mutex.unlock()
	if _thread != null:
		var _error = _work.post()


# In the main loop: reports outcomes.
func poll() -> void:
	if _thread == null:
		_step()
	_mutex.lock()
	var finished := _finished
	_finished = []
	_mutex.unlock()
	for exchange in finished:
		exchange.emit_signal("finished")


# Ends the thread, and all requests. Waits for it, at most for the lookup of a name.
func end() -> void:
	_mutex.lock()
	_is_ending = true
	_mutex.unlock()
	if _thread != null:
		var _error = _work.post()
		_thread.wait_to_finish()
	var open := _waiting + _finished
	for connection in _connections:
		if connection.exchange != null:
			open.append(connection.exchange)
	for exchange in open:
		exchange.fail("ended", "The game ends.")
		exchange.emit_signal("finished")


func _run(_unused) -> void:
	while not _has_ended():
		if _step():
			OS.delay_msec(PAUSE_MS)
		else:
			var _error = _work.wait()


func _has_ended() -> bool:
	_mutex.lock()
	var has_ended := _is_ending
	_mutex.unlock()
	return has_ended


# Advances all requests. False if there are none.
func _step() -> bool:
	_start_waiting()
	var is_busy := false
	for connection in _connections:
		if connection.exchange == null:
			continue
		is_busy = true
		var exchange = connection.step()
		if exchange != null:
			_mutex.lock()
			_finished.append(exchange)
			_mutex.unlock()
	return is_busy


func _start_waiting() -> void:
	while _has_free_connection():
		_mutex.lock()
		var exchange = _waiting.pop_front()
		_mutex.unlock()
		if exchange == null:
			return
		# Without the lock: to start a lookup waits for the one in progress.
		_free_connection(exchange).start(exchange)


func _has_free_connection() -> bool:
	for connection in _connections:
		if connection.exchange == null:
			return true
	return _connections.size() < MOST_CONNECTIONS


# One that is connected to the server if possible.
func _free_connection(exchange):
	var free = null
	for connection in _connections:
		if connection.exchange == null:
			if connection.suits(exchange):
				return connection
			free = connection
	if _connections.size() < MOST_CONNECTIONS:
		free = Connection.new()
		_connections.append(free)
	return free
