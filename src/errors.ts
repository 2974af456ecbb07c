interface ErrorKind {
  status: number;
  title: string;
  /** What the caller can do about it. */
  remedy: string;
}

/**
 * All errors in Laurel's answers, by the code in the body. Codes are stable: clients may branch on them. The code that
 * throws an error writes its text. `docs/errors.md` is generated from this table.
 */
export const ERRORS = {
  malformed: {
    status: 400,
    title: 'The request cannot be read',
    remedy: 'Correct the path, header or text that `error` names.',
  },
  invalid_json: {
    status: 400,
    title: 'The body is not valid JSON',
    remedy: 'Correct the body at the line and column that `hint` names.',
  },
  invalid: {
    status: 400,
    title: 'A field or header does not fit its schema',
    remedy: 'Correct the field that `error` names. It may name a similar value or field.',
  },
  missing_key: {
    status: 401,
    title: 'No API key was sent',
    remedy: 'Send the key in the header `X-API-KEY`.',
  },
  invalid_key: {
    status: 401,
    title: 'The API key is not valid',
    remedy:
      'Check that the whole key was sent, and that it is of this installation, active and not expired. The answer does not say which, because somebody who guesses keys would learn from it.',
  },
  unauthorized: {
    status: 401,
    title: 'The session is over, or the ticket of a live stream is not valid',
    remedy: 'Sign in again, or ask for another ticket.',
  },
  forbidden: {
    status: 403,
    title: 'The key or session does not allow this',
    remedy: 'Use a key for this user, tenant or port; in a session, send its CSRF token.',
  },
  insufficient_scope: {
    status: 403,
    title: 'The scope of the key does not hold the operation',
    remedy: 'Use a key with a larger scope.',
  },
  not_found: {
    status: 404,
    title: 'What the request names does not exist',
    remedy: 'Check the key or ID; `hint` may name a similar one.',
  },
  unknown_path: {
    status: 404,
    title: 'There is no such path on this port',
    remedy: 'Check the path; `hint` says if the operation is on the other port.',
  },
  method_not_allowed: {
    status: 405,
    title: 'The path does not have this method',
    remedy: 'Use one of the methods in the header `Allow`; `hint` says if the operation is on the other port.',
  },
  conflict: {
    status: 409,
    title: 'Not possible in the present state',
    remedy: 'Do what `error` says first, or wait.',
  },
  insufficient_balance: {
    status: 409,
    title: 'The balance does not cover what should be spent or held',
    remedy: 'Spend no more than `balance`, or wait until the user has earned more. Nothing was spent.',
  },
  sold_out: {
    status: 409,
    title: 'Nothing is left of the reward',
    remedy: 'Claim another reward, or wait until the stock grows or a claim is cancelled. Nothing was spent.',
  },
  claim_limit: {
    status: 409,
    title: 'The user has as many claims of the reward as one may have',
    remedy: 'Claim another reward. Nothing was spent.',
  },
  payload_too_large: {
    status: 413,
    title: 'The body is too large',
    remedy: 'Send less at once.',
  },
  unsupported_media_type: {
    status: 415,
    title: 'The body is not declared as plain JSON',
    remedy: 'Send `Content-Type: application/json`, in UTF-8 and without compression.',
  },
  unprocessable: {
    status: 422,
    title: 'Well-formed, but cannot be used',
    remedy: 'Correct what `error` names; `hint` may name a similar key or time zone.',
  },
  tenant_required: {
    status: 422,
    title: 'The header `Tenant-ID` is missing or names no tenant',
    remedy: 'Send the customer ID of a tenant in the header `Tenant-ID`.',
  },
  out_of_points: {
    status: 422,
    title: "The user's balance does not cover the event",
    remedy: 'Wait until the user has enough points. Nothing of the event was applied.',
  },
  refused_by_guard: {
    status: 422,
    title: 'A guard of the metric refused the event',
    remedy: 'Check the value and rate of events, or change the guard. Nothing of the event was applied.',
  },
  too_much_work: {
    status: 422,
    title: 'An event of the metric would reach too much of the configuration',
    remedy: 'Archive or divide what counts the metric.',
  },
  too_many_requests: {
    status: 429,
    title: 'A limit is used up',
    remedy: 'Send the request again after the seconds in the header `Retry-After`.',
  },
  too_many_wrong_keys: {
    status: 429,
    title: 'Too many wrong API keys came from this address',
    remedy: 'Correct the key, and wait for the seconds in the header `Retry-After`. Valid keys still work.',
  },
  headers_too_large: {
    status: 431,
    title: 'Request line and headers are too long',
    remedy: 'Send fewer or shorter headers and query parameters.',
  },
  internal: {
    status: 500,
    title: 'Laurel has a fault',
    remedy: 'Look for the `X-Request-Id` of the answer in the log, and report the fault.',
  },
  unavailable: {
    status: 503,
    title: 'Laurel cannot do this at the moment',
    remedy:
      'Send the request again after the seconds in the header `Retry-After`; events with the same idempotency key, because the first request may have been processed.',
  },
  overloaded: {
    status: 503,
    title: 'More requests wait than can be answered in time',
    remedy:
      'Send the request again after the seconds in the header `Retry-After`. Nothing of it was done. If this happens often, add frontends or reduce the load.',
  },
  storage_full: {
    status: 503,
    title: 'Redis has no memory left, or Postgres no disk space',
    remedy:
      'Send the request again after the seconds in the header `Retry-After`. Nothing of it was stored. An administrator has to make room.',
  },
} as const satisfies Record<string, ErrorKind>;

export type ErrorCode = keyof typeof ERRORS;

export type ErrorStatus = (typeof ERRORS)[ErrorCode]['status'];

export const errorCodes = Object.keys(ERRORS) as ErrorCode[];

/** Maximum length of an error's text, which may quote the request. */
const TEXT_LENGTH = 4_096;

/** Shortens a text to at most `most` characters, and says how many were cut. */
export function shortened(text: string, most: number): string {
  if (text.length <= most) return text;
  const end = ` … (${text.length - most} characters more)`;
  // Half of a surrogate pair could not be encoded.
  return text.slice(0, most).replace(/[\ud800-\udbff]$/, '') + end;
}

/** An expected failure with a text for users. Anything else that is thrown is a fault, answered 500. */
export class AppError extends Error {
  readonly code: ErrorCode;
  readonly status: ErrorStatus;
  /** Help for the caller, for the body's `hint`. Never contains a secret or another tenant's data. */
  readonly hint: string | undefined;
  /** Further fields of the body. */
  readonly fields: { balance?: number };
  /** Extra response headers, e.g. `Allow` of a 405. */
  readonly headers: Readonly<Record<string, string>>;

  constructor(
    code: ErrorCode,
    message: string,
    {
      headers = {},
      hint,
      fields = {},
    }: { headers?: Readonly<Record<string, string>>; hint?: string | undefined; fields?: AppError['fields'] } = {},
  ) {
    super(shortened(message, TEXT_LENGTH));
    this.name = 'AppError';
    this.code = code;
    this.status = ERRORS[code].status;
    this.hint = hint;
    this.fields = fields;
    this.headers = this.status === 503 ? { 'Retry-After': '1', ...headers } : headers;
  }
}

/** Asks for a pause, of at least a second. */
export const retryAfter = (ms: number): { 'Retry-After': string } => ({
  'Retry-After': String(Math.max(1, Math.ceil(ms / 1000))),
});

/** Rejects work that had not begun when its client disconnected. Nothing was done, and nobody reads an answer. */
export const CLIENT_GONE = new Error('The client has disconnected.');
