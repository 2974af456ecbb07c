interface LoggedError {
  /** Class of the error, e.g. `ReplyError`. */
  type: string;
  message: string;
  code?: string | number;
  /** Stack frames, without the message. */
  stack?: string;
  cause?: LoggedError;
  errors?: LoggedError[];
  /** `SAFE_FIELDS`. */
  [field: string]: unknown;
}

/**
 * Fields that describe the fault and never contain a value that a client sent: codes, names of the schema, positions in the
 * server's source, the address that did not answer. All others are omitted, such as the arguments of a Redis command
 * (`command`, `parameters`) and the row that Postgres refused (`detail`, `where`).
 */
const SAFE_FIELDS = [
  'code',
  'status',
  'errno',
  'syscall',
  'address',
  'port',
  'severity',
  'schema',
  'table',
  'column',
  'dataType',
  'constraint',
  'file',
  'line',
  'routine',
  'streamId',
  'shard',
] as const;

/** Longer chains of causes are circular. */
const MAX_DEPTH = 5;
const MAX_ERRORS = 5;
const MAX_FRAMES = 30;
const FIELD = /^[\w.:@/\- ]{1,100}$/;
const FRAME = /^\s+at .*(?::\d+:\d+\)?|\(<anonymous>\)|\(native\))$/;

/** The loggable form of an error: class, codes, a message without values, stack, causes. Never throws. */
export function loggedError(error: unknown): LoggedError {
  return describe(error, MAX_DEPTH);
}

/** The same as text, for a process that ends: `ReplyError: WRONGPASS …` with the stack, then the causes. */
export function errorText(error: unknown): string {
  const lines: string[] = [];
  const add = (logged: LoggedError, before: string): void => {
    const { type, message, code } = logged;
    lines.push(`${before}${type}${code === undefined ? '' : ` (${code})`}: ${message}`);
    if (logged.stack !== undefined) lines.push(logged.stack);
    if (logged.cause) add(logged.cause, 'caused by ');
    for (const one of logged.errors ?? []) add(one, 'one of several: ');
  };
  add(loggedError(error), '');
  return lines.join('\n');
}

function describe(error: unknown, depth: number): LoggedError {
  if (!(error instanceof Error)) return { type: typeof error, message: 'the thrown value is not an error' };
  try {
    return describeError(error, depth);
  } catch {
    return { type: 'Error', message: 'cannot be described' };
  }
}

function describeError(error: Error, depth: number): LoggedError {
  const fields = error as unknown as Record<string, unknown>;
  const cause = error.cause instanceof Error && depth > 1 ? describe(error.cause, depth - 1) : undefined;
  const logged: LoggedError = { type: typeOf(error), message: messageOf(error, cause) };
  for (const name of SAFE_FIELDS) {
    const value = fields[name];
    if (typeof value === 'number' || (typeof value === 'string' && FIELD.test(value))) logged[name] = value;
  }
  const stack = framesOf(error);
  if (stack !== '') logged.stack = stack;
  if (cause) logged.cause = cause;
  if (error instanceof AggregateError && depth > 1)
    logged.errors = error.errors.slice(0, MAX_ERRORS).map((one) => describe(one, depth - 1));
  return logged;
}

function typeOf(error: Error): string {
  const name = error.name === 'error' || error.name === 'Error' ? error.constructor.name : error.name;
  return /^\w{1,80}$/.test(name) ? name : 'Error';
}

function messageOf(error: Error, cause: LoggedError | undefined): string {
  const { message, name } = error;
  const { code, syscall } = error as { code?: unknown; syscall?: unknown };
  if (isOfPostgres(error)) return postgresMessage(error.code, message);
  if (name === 'ReplyError') return redisMessage(message);
  // System errors: the call and its result. Node's own errors: the code is enough, and the message quotes the argument.
  if (typeof syscall === 'string' && typeof code === 'string') return `${syscall} ${code}`;
  if (typeof code === 'string' && code.startsWith('ERR_')) return code;
  // A message that repeats its cause's must show no more than the cause does.
  const own = cause && (error.cause as Error).message;
  return safeMessage(name, own ? message.replaceAll(own, () => cause.message) : message);
}

/** Only the frames. They follow the message, which may have several lines, some of which may look like frames. */
function framesOf({ stack, message }: Error): string {
  if (typeof stack !== 'string') return '';
  const at = message === '' ? -1 : stack.indexOf(message);
  const frames = (at < 0 ? stack : stack.slice(at + message.length)).split('\n').filter((line) => FRAME.test(line));
  return frames.slice(0, MAX_FRAMES).join('\n');
}

/**
 * Which parts of an error's message may be logged. Servers and libraries quote values in messages: arguments of commands,
 * names, e-mail addresses, secrets of keys, passwords. Text that is not known to be harmless is omitted; code, class and
 * stack describe the fault.
 */

/** SQLSTATE, as `code` of an error of Postgres. */
const SQLSTATE = /^[0-9A-Z]{5}$/;

const DISK_FULL = '53100';

const NAME = String.raw`"[\w.]{1,63}"`;

/** Postgres messages whose quotations can only be names of tables, columns, constraints, databases and roles. */
const POSTGRES = new RegExp(
  `^(?:${[
    `duplicate key value violates unique constraint ${NAME}`,
    `null value in column ${NAME} of relation ${NAME} violates not-null constraint`,
    `new row for relation ${NAME} violates check constraint ${NAME}`,
    `(?:insert or update|update or delete) on table ${NAME} violates foreign key constraint ${NAME}(?: on table ${NAME})?`,
    String.raw`index row size \d+ exceeds btree version \d+ maximum \d+ for index ${NAME}`,
    String.raw`index row requires \d+ bytes, maximum size is \d+`,
    `(?:relation|database|role|schema) ${NAME} does not exist`,
    `column ${NAME} (?:of relation ${NAME} )?does not exist`,
    `permission denied for (?:table|schema|sequence|database|function) [\\w.]{1,63}`,
    `password authentication failed for user ${NAME}`,
    String.raw`(?:smallint|integer|bigint|numeric field|value) (?:out of range|overflow|overflows numeric format)`,
    `division by zero|deadlock detected|out of memory|out of shared memory|disk full`,
    `could not serialize access due to [a-z /]+`,
    `canceling statement due to [a-z ]+`,
    `terminating (?:connection|autovacuum process|background worker) (?:due to|because of) [a-z -]+`,
    `the database system is [a-z ]+`,
    `sorry, too many clients already|too many connections for (?:database|role) ${NAME}`,
    `remaining connection slots are reserved for [a-zA-Z_ ]+`,
    `database ${NAME} is not currently accepting connections`,
    `cannot execute [A-Z ]+ in a read-only transaction`,
    `current transaction is aborted, commands ignored until end of transaction block`,
  ].join('|')})$`,
);

/** First words of Redis error replies whose rest is constant. For `ERR` and `WRONGTYPE` of scripts, see below. */
const CONSTANT_REPLY =
  /^(?:LOADING|BUSY|READONLY|MISCONF|OOM|MASTERDOWN|CLUSTERDOWN|TRYAGAIN|NOREPLICAS|NOAUTH|WRONGPASS|NOSCRIPT|NOPROTO|UNBLOCKED|UNKILLABLE|WRONGTYPE|UNMARKED|CROSSSLOT)\b/;

/** The interpreter's description of a fault in a script. Its names are those of the script's text. */
const SCRIPT_FAULT =
  /attempt to (?:compare (?:two )?[a-z]+ (?:values|with [a-z]+)|(?:call|index|concatenate|perform arithmetic on|get length of) (?:a [a-z]+ value|(?:global|local|field|method|upvalue) '[\w?]{1,40}' \(a [a-z]+ value\)))/;
const SCRIPT_PLACE = /(?:user_function|user_script):\d+/;
const SCRIPT_NAME = /script: (laurel_\w{1,80}|[0-9a-f]{40})/;

const HARMLESS_VALUE_FAULTS =
  /^(?:Maximum call stack size exceeded|Invalid array length|Invalid string length|Array buffer allocation failed|Unexpected end of JSON input)$/;

const MAX_LENGTH = 300;

/** The loggable part of a Postgres error's message. Its `detail`, `where` and `internalQuery` are never logged. */
const postgresMessage = (code: string, message: string): string =>
  code === DISK_FULL
    ? `The disk of Postgres is full (SQLSTATE ${code})`
    : POSTGRES.test(message)
      ? message
      : `Postgres refused the statement with SQLSTATE ${code}`;

/** Whether an error is Postgres's answer rather than its client's error. */
const isOfPostgres = (error: Error): error is Error & { code: string } => {
  const { code, severity } = error as { code?: unknown; severity?: unknown };
  return typeof severity === 'string' && typeof code === 'string' && SQLSTATE.test(code);
};

/** The loggable part of a Redis error reply: its first word and, for a fault in a script, the script and the position. */
function redisMessage(message: string): string {
  const [place] = SCRIPT_PLACE.exec(message) ?? [];
  const [script] = SCRIPT_NAME.exec(message) ?? [];
  const constant = CONSTANT_REPLY.test(message) && place === undefined && script === undefined;
  if (constant && message.startsWith('MISCONF'))
    return plainMessage(`Redis cannot write to its disk, which may be full: ${message}`);
  if (constant) return plainMessage(message);
  const [word] = /^[A-Z]{2,20}\b/.exec(message) ?? [];
  const [fault] = SCRIPT_FAULT.exec(message) ?? [];
  const known = [word, fault, script, place && `line ${place}`].filter((part) => part !== undefined);
  return known.length > 0 ? known.join(', ') : 'Redis refused it';
}

/**
 * The loggable part of any other message: everything before the first quotation mark or brace, which values follow, without
 * e-mail addresses and passwords in URLs. The engine's messages about values (`… is not valid JSON`, `Invalid time zone
 * specified: …`) are shown only if they contain none.
 */
function safeMessage(name: string, message: string): string {
  if (/^(?:SyntaxError|RangeError|URIError)$/.test(name) && !HARMLESS_VALUE_FAULTS.test(message)) return '';
  return plainMessage(message);
}

function plainMessage(message: string): string {
  const quoted = message.search(/(?<!\w)["'`“‘]|[{\n\r]/);
  const shown = quoted < 0 ? message : `${message.slice(0, quoted)}…`;
  const cleaned = shown.replaceAll(/\/\/[^/\s@]*@/g, '//…@').replaceAll(/[^\s@<>(]+@[^\s@>)]+/g, (found) =>
    // A URL whose password is already hidden.
    found.includes('//…') ? found : '…',
  );
  return cleaned.length > MAX_LENGTH ? `${cleaned.slice(0, MAX_LENGTH)}…` : cleaned;
}
