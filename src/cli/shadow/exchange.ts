import { brotliDecompressSync, gunzipSync, inflateSync } from 'node:zlib';

/** One answer, with a body that is whole and unpacked. */
export interface Answer {
  status: number;
  /** Parsed JSON; undefined: the body is empty, not JSON, too long or packed in an unknown way. */
  body: unknown;
}

/** What a request of the Application API is about. */
export interface RequestFacts {
  /** Method and path with names for its parameters, such as `GET /v1/users/{id}/streak`. */
  operation: string;
  /** The one user whose state it reads or changes; `null`: none, or several. */
  user: string | null;
  writes: boolean;
}

/** A request that the source has answered, and that Laurel is to answer too. */
export interface Exchange extends RequestFacts {
  method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  /** With its query, as the client sent it. */
  path: string;
  /** Name (lower case) and value, one after the other, as they were received. */
  headers: readonly string[];
  body: Buffer;
  sourceStatus: number;
  /** Resolves when the source's answer is complete; `null`: it broke off. */
  sourceAnswer: Promise<Answer | null>;
  /** Another request of the same user was under way at the source, and one of the two was a write. */
  userOverlapped: boolean;
  /** A write of another user was under way at the source. */
  othersOverlapped: boolean;
  /** The source repeats an earlier answer of which this run does not know whether it arrived: not to be compared. */
  repeats: boolean;
}

/** The longest body of a request or an answer that is compared; the contract's longest are some 100 KB. */
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

/** What a request is about; `null` if it is not one of the Application API. */
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

/** `user.id` of an event or a completion, `id` of a user that is created. */
function userOfBody(body: Buffer): string | null {
  const { user, id } = Object(parsedJson(body)) as { user?: { id?: unknown } | null; id?: unknown };
  const found = user?.id ?? id;
  return typeof found === 'string' ? found : null;
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

/** The value of a body; undefined where there is none to compare. */
export function bodyValue(body: Buffer, encoding: string | undefined): unknown {
  try {
    return parsedJson(unpacked(body, encoding?.toLowerCase() ?? 'identity'));
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

function parsedJson(body: Buffer): unknown {
  try {
    return JSON.parse(body.toString('utf8'));
  } catch {
    return undefined;
  }
}

/** Keeps the chunks of a body up to a bound. */
export class Kept {
  private chunks: Uint8Array[] = [];
  private bytes = 0;

  add(chunk: Uint8Array): void {
    this.bytes += chunk.length;
    if (this.bytes <= MOST_COMPARED_BYTES) this.chunks.push(chunk);
    else this.chunks = [];
  }

  /** The whole body; `null` if it is longer than is compared. */
  whole(): Buffer | null {
    return this.bytes <= MOST_COMPARED_BYTES ? Buffer.concat(this.chunks) : null;
  }
}
