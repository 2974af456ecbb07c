import { brotliDecompressSync, gunzipSync, inflateSync } from 'node:zlib';
import { parsedJson } from '../json.ts';

export interface Answer {
  status: number;
  /** Parsed JSON; `undefined` if the body is empty, not JSON, too long, or packed in an unknown way. */
  body: unknown;
}

/** The subject of an Application API request. */
export interface RequestFacts {
  /** Method and path with names for its parameters, such as `GET /v1/users/{id}/streak`. */
  operation: string;
  /** The user whose state it reads or changes; `null` if there is none, or several. */
  user: string | null;
  writes: boolean;
}

/** A request that the source has answered and that Laurel will answer, too. */
export interface Exchange extends RequestFacts {
  method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  /** Including the query, as the client sent it. */
  path: string;
  /** Alternating names (lower case) and values, as received. */
  headers: readonly string[];
  body: Buffer;
  sourceStatus: number;
  /** Resolves when the source's answer is complete; `null` if it broke off. */
  sourceAnswer: Promise<Answer | null>;
  /** Another request of the same user was in flight at the source, and one of the two was a write. */
  userOverlapped: boolean;
  /** A write of another user was in flight at the source. */
  othersOverlapped: boolean;
  /** The source repeats an earlier answer, and this run does not know whether that one arrived. Not compared. */
  repeats: boolean;
}

/** Maximum size of a body that is compared; the contract's longest ones take about 100 KB. */
export const MOST_COMPARED_BYTES = 2_097_152;

const METHODS = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'];
/** Resources of the Application API whose next path segment is a parameter. */
const PARAMETER_AFTER: Readonly<Record<string, string>> = {
  users: '{id}',
  metrics: '{key}',
  points: '{key}',
  leaderboards: '{key}',
  achievements: '{key}',
};

/** The subject of a request; `null` if it is not an Application API request. */
export function requestFacts(method: string, path: string, body: Buffer): RequestFacts | null {
  const [, prefix, ...segments] = path.replace(/[?#].*/s, '').split('/');
  if (!METHODS.includes(method) || !['v1', 'api'].includes(prefix ?? '') || segments.length === 0) return null;
  const named = segments.map((segment, index) => PARAMETER_AFTER[segments[index - 1] ?? ''] ?? segment);
  const writes = method !== 'GET';
  return {
    operation: `${method} /v1/${named.join('/')}`.slice(0, MOST_OPERATION_LENGTH),
    user: segments[0] === 'users' && segments[1] ? decoded(segments[1]) : writes ? userOfBody(body) : null,
    writes,
  };
}

const MOST_OPERATION_LENGTH = 100;

function decoded(segment: string): string {
  try {
    return decodeURIComponent(segment);
  } catch {
    return segment;
  }
}

/** `user.id` of an event or a completion, `id` of a created user. */
function userOfBody(body: Buffer): string | null {
  const { user, id } = Object(parsedJson(body.toString('utf8'))) as { user?: { id?: unknown } | null; id?: unknown };
  const userId = user?.id ?? id;
  return typeof userId === 'string' ? userId : null;
}

export const headerOf = (headers: readonly string[], name: string): string | undefined => {
  for (let index = 0; index < headers.length; index += 2)
    if (headers[index]!.toLowerCase() === name) return headers[index + 1];
  return undefined;
};

/** The headers with one of these names, or with any other name. */
export const headersWhere = (headers: readonly string[], isKept: (name: string) => boolean): string[] =>
  headers.flatMap((_, index) =>
    index % 2 === 0 && isKept(headers[index]!.toLowerCase()) ? [headers[index]!, headers[index + 1]!] : [],
  );

/** The value of a body; `undefined` if there is none to compare. */
export function bodyValue(body: Buffer, encoding: string | undefined): unknown {
  try {
    return parsedJson(unpacked(body, encoding?.toLowerCase() ?? 'identity').toString('utf8'));
  } catch {
    return undefined;
  }
}

function unpacked(body: Buffer, encoding: string): Buffer {
  const bounds = { maxOutputLength: MOST_COMPARED_BYTES };
  if (encoding === 'gzip' || encoding === 'x-gzip') return gunzipSync(body, bounds);
  if (encoding === 'br') return brotliDecompressSync(body, bounds);
  if (encoding === 'deflate') return inflateSync(body, bounds);
  if (encoding === 'identity') return body;
  throw new Error(`Unknown encoding ${encoding}`);
}

export class Kept {
  private chunks: Uint8Array[] = [];
  private bytes = 0;

  add(chunk: Uint8Array): void {
    this.bytes += chunk.length;
    if (this.bytes <= MOST_COMPARED_BYTES) this.chunks.push(chunk);
    else this.chunks = [];
  }

  /** The whole body; `null` if it is too long to compare. */
  whole(): Buffer | null {
    return this.bytes <= MOST_COMPARED_BYTES ? Buffer.concat(this.chunks) : null;
  }
}
