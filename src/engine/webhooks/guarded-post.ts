import type { Readable } from 'node:stream';
import type { Agent } from 'undici';
import { systemClock } from '../../clock.ts';
import { codeOf } from '../../network-errors.ts';

interface Post {
  url: URL;
  headers: Record<string, string>;
  body: string | Readable;
  signal: AbortSignal;
  /** How much of the answer is kept. */
  keptBytes?: number | undefined;
}

export interface Answer {
  status: number;
  /** The start of the body. */
  answer: string;
  /** The delay that the receiver asked for; `null` if none. */
  retryAfterMs: number | null;
}

const KEPT_BYTES = 4_096;
/** Maximum number of interim answers (103 and others), since a receiver could send them throughout a try. */
const MOST_INTERIM = 10;

/** Sends one request. Does not follow redirects. Rejects if no answer comes. */
export async function post(
  agent: Agent,
  { url, headers, body, signal, keptBytes = KEPT_BYTES }: Post,
): Promise<Answer> {
  let interim = 0;
  const answered = await agent.request({
    origin: url.origin,
    path: `${url.pathname}${url.search}`,
    method: 'POST',
    headers,
    body,
    signal,
    onInfo: () => {
      interim += 1;
      if (interim > MOST_INTERIM) throw Object.assign(new Error('interim answers'), { code: 'TOO_MANY_INTERIM' });
    },
  });
  const answer = await readAnswer(answered.body, keptBytes);
  const retryAfter = answered.headers['retry-after'];
  return {
    status: answered.statusCode,
    answer,
    retryAfterMs: parseRetryAfter(Array.isArray(retryAfter) ? retryAfter[0] : retryAfter, systemClock.now()),
  };
}

const TEXTS: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'the connection was refused',
  ECONNRESET: 'the connection broke before an answer came',
  UND_ERR_CONNECT_TIMEOUT: 'no connection within 10 s',
  UND_ERR_SOCKET: 'the connection broke before an answer came',
  UND_ERR_HEADERS_OVERFLOW: 'the headers of the answer are too long',
  TOO_MANY_INTERIM: 'too many interim answers (1xx) came',
  ENOTFOUND: 'the host name is unknown',
  ENODATA: 'the host name has no address',
};

/** Why no answer came, for users. */
export function unansweredText(error: Error): string {
  const code = codeOf(error) ?? '';
  return TEXTS[code] ?? `no answer: ${code || error.message}`;
}

/** Shorter answers are read to the end, so that the connection can serve the next message. */
const READ_BYTES = 65_536;

/** The first bytes of an answer as text. Closes the connection of one longer than 64 KiB, or what is kept if that is more. */
async function readAnswer(body: Readable, keptBytes: number): Promise<string> {
  const kept: Buffer[] = [];
  let bytes = 0;
  try {
    for await (const chunk of body as AsyncIterable<Buffer>) {
      if (bytes < keptBytes) kept.push(chunk.subarray(0, keptBytes - bytes));
      bytes += chunk.length;
      if (bytes > Math.max(READ_BYTES, keptBytes)) break;
    }
  } catch {
    // The status, which counts, has already arrived.
  }
  body.destroy();
  return Buffer.concat(kept).toString('utf8').replaceAll('\0', '\uFFFD');
}

/** The delay (ms) of `Retry-After`, seconds or a date (RFC 9110, 10.2.3); `null` if unreadable. */
export function parseRetryAfter(header: string | undefined, nowMs: number): number | null {
  const text = header?.trim() ?? '';
  if (/^\d+$/.test(text)) return Number(text) * 1_000;
  // HTTP dates begin with the weekday; `Date.parse` accepts much else as a date.
  const dateMs = /^[A-Z][a-z]{2,8},? /.test(text) ? Date.parse(text) : NaN;
  return Number.isNaN(dateMs) ? null : Math.max(0, dateMs - nowMs);
}
