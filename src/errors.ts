/** Every error that Laurel answers with, by code: its HTTP status. The text is written where it is thrown. */
const STATUS = {
  malformed: 400,
  invalid: 400,
  unauthorized: 401,
  forbidden: 403,
  not_found: 404,
  method_not_allowed: 405,
  conflict: 409,
  payload_too_large: 413,
  unsupported_media_type: 415,
  unprocessable: 422,
  too_much_work: 422,
  too_many_requests: 429,
  headers_too_large: 431,
  internal: 500,
  unavailable: 503,
} as const;

export type ErrorCode = keyof typeof STATUS;

/** Every status that an error can have. */
export type ErrorStatus = (typeof STATUS)[ErrorCode];

export const errorCodes = Object.keys(STATUS) as ErrorCode[];

/** Most characters of an error's text: what was sent may be part of it. */
const TEXT_LENGTH = 4_096;

/** A text of at most so many characters; one that is cut says by how many. */
export function shortened(text: string, most: number): string {
  if (text.length <= most) return text;
  const end = ` … (${text.length - most} characters more)`;
  // Half of a surrogate pair would not arrive as it is.
  return text.slice(0, most).replace(/[\ud800-\udbff]$/, '') + end;
}

/**
 * An expected failure with a text for a person. Anything else that is thrown is a fault and answers 500
 * with no internals in the text.
 */
export class AppError extends Error {
  readonly code: ErrorCode;
  readonly status: ErrorStatus;
  /** Extra response headers, e.g. `Allow` of a 405. */
  readonly headers: Readonly<Record<string, string>>;

  constructor(code: ErrorCode, message: string, headers: Readonly<Record<string, string>> = {}) {
    super(shortened(message, TEXT_LENGTH));
    this.name = 'AppError';
    this.code = code;
    this.status = STATUS[code];
    this.headers = code === 'unavailable' ? { 'Retry-After': '1', ...headers } : headers;
  }
}
