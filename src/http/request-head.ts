import { randomBytes } from 'node:crypto';
import { AppError } from '../errors.ts';
import type { HttpRequest } from './uws.ts';

/** The headers that Laurel reads; `null` if absent, `''` if empty, so that the two are not confused. */
export interface RequestHead {
  apiKey: string | null;
  /** Whether there is an `Authorization: Bearer` header, which Laurel does not accept. */
  hasBearer: boolean;
  tenantId: string | null;
  idempotencyKey: string | null;
  requestId: string | null;
  contentType: string | null;
  contentEncoding: string | null;
  contentLength: string | null;
  transferEncoding: string | null;
  /** All values joined in order; each proxy may add a header. */
  forwardedFor: string | null;
  language: string | null;
  /** The version of the contract that the client was generated from. */
  contractVersion: string | null;
  /** Name of a header that was sent more than once. */
  repeated: string | null;
  bytes: number;
}

/** Limit for request line and headers in bytes; larger ones are answered with 431. 100 repeated `ids` fit. */
const MAX_HEAD_BYTES = 16_384;
/** Colon and space between a header's name and value, and the line break. */
const AROUND_HEADER = 4;

const BEARER = /^bearer /i;

let head: RequestHead;

function collect(name: string, value: string): void {
  head.bytes += name.length + value.length + AROUND_HEADER;
  switch (name) {
    case 'x-api-key':
      if (head.apiKey !== null) head.repeated = 'X-API-KEY';
      head.apiKey = value;
      break;
    case 'authorization':
      head.hasBearer = BEARER.test(value);
      break;
    case 'tenant-id':
      if (head.tenantId !== null) head.repeated = 'Tenant-ID';
      head.tenantId = value;
      break;
    case 'idempotency-key':
      if (head.idempotencyKey !== null) head.repeated = 'Idempotency-Key';
      head.idempotencyKey = value;
      break;
    case 'x-request-id':
      // Only for readers of logs, so repeating it is allowed.
      head.requestId ??= value;
      break;
    case 'content-type':
      if (head.contentType !== null) head.repeated = 'Content-Type';
      head.contentType = value;
      break;
    case 'content-encoding':
      if (head.contentEncoding !== null) head.repeated = 'Content-Encoding';
      head.contentEncoding = value;
      break;
    case 'content-length':
      if (head.contentLength !== null) head.repeated = 'Content-Length';
      head.contentLength = value;
      break;
    case 'transfer-encoding':
      if (head.transferEncoding !== null) head.repeated = 'Transfer-Encoding';
      head.transferEncoding = value;
      break;
    case 'x-fern-language':
      head.language = value;
      break;
    case 'x-sdk-version':
      head.contractVersion = value;
      break;
    case 'x-fern-sdk-version':
      // The package's version, used only if the contract's is absent.
      head.contractVersion ??= value;
      break;
    case 'x-forwarded-for':
      head.forwardedFor = head.forwardedFor === null ? value : `${head.forwardedFor},${value}`;
      break;
  }
}

/** Copies the headers in one pass, the only way to detect repeated and empty ones. */
export function readHead(request: HttpRequest): RequestHead {
  head = {
    apiKey: null,
    hasBearer: false,
    tenantId: null,
    idempotencyKey: null,
    requestId: null,
    contentType: null,
    contentEncoding: null,
    contentLength: null,
    transferEncoding: null,
    forwardedFor: null,
    language: null,
    contractVersion: null,
    repeated: null,
    bytes: 0,
  };
  request.forEach(collect);
  return head;
}

/** Returns 431 if the head is too long; uWS itself refuses four times that length, but not with JSON. */
export function sizeFault(req: HttpRequest, headerBytes: number): AppError | null {
  // Undefined without a `?`, despite the declared type.
  const query = (req.getQuery() as string | undefined) ?? '';
  if (headerBytes + req.getUrl().length + query.length <= MAX_HEAD_BYTES) return null;
  return new AppError('headers_too_large', `Request line and headers must have at most ${MAX_HEAD_BYTES} bytes`);
}

/**
 * Returns an error if the message's framing is invalid. Such a connection cannot be trusted, because two readers could disagree about where
 * the next request begins. uWS itself refuses an invalid Content-Length, and one together with Transfer-Encoding.
 */
export function framingFault({ repeated, contentLength, transferEncoding }: RequestHead): AppError | null {
  if (repeated !== null) return new AppError('malformed', `The header ${repeated} was sent more than once`);
  if (contentLength === '') return new AppError('malformed', 'Content-Length must be a number');
  if (transferEncoding !== null && transferEncoding.toLowerCase() !== 'chunked')
    return new AppError('malformed', 'Transfer-Encoding must be chunked');
  return null;
}

const PRINTABLE_ASCII = /^[\x20-\x7e]{1,255}$/;

/**
 * The idempotency key as sent, or `null`. Throws 400 for a key that might be confused with another, because that would lose an event. uWS
 * strips non-ASCII bytes from both ends as if they were spaces; inside a key they are refused here.
 */
export function readIdempotencyKey(value: string | null): string | null {
  if (value !== null && !PRINTABLE_ASCII.test(value))
    throw new AppError('invalid', 'Idempotency-Key must be 1 to 255 ASCII characters');
  return value;
}

/** Format of IDs accepted from callers. Others are not repeated in answers, logs or the audit log. */
const WELL_FORMED = /^[A-Za-z0-9_-]{1,64}$/;

/** 40 random bits identify the process, so that a new ID costs only an addition and a concatenation. */
const PROCESS = `${randomBytes(5).toString('hex')}-`;
let count = 0;

/** The ID of a request: the caller's if it is well-formed, otherwise a new one. */
export const requestIdOf = (sent: string | null): string =>
  sent !== null && WELL_FORMED.test(sent) ? sent : PROCESS + (count += 1).toString(36);
