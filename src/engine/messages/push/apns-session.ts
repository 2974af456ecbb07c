import {
  type ClientHttp2Session,
  type ClientHttp2Stream,
  connect,
  constants,
  type OutgoingHttpHeaders,
} from 'node:http2';
import { parsedJson } from '../../../json.ts';
import { textAt } from './push-result.ts';

export interface ApnsAnswer {
  status: number;
  /** The start of the body. */
  answer: string;
  retryAfter: string | undefined;
}

/** Why no answer came. `handedOver`: whether APNs may have processed the request. */
export class ApnsFailure extends Error {
  readonly handedOver: boolean;

  constructor(message: string, handedOver: boolean) {
    super(message);
    this.name = 'ApnsFailure';
    this.handedOver = handedOver;
  }
}

const CONNECT_MS = 10_000;
/** A connection that was idle for longer may be broken without a sign; a ping shows it before a message is lost. */
const TRUSTED_MS = 20_000;
const PING_MS = 3_000;
/** Longer than any attempt. */
const RETIRED_MS = 60_000;
const MOST_ANSWER_LENGTH = 4_096;

export interface ApnsSessionOptions {
  /** Certificate authorities instead of the system's, for tests. */
  ca?: string | undefined;
  /** After how long without use a connection is checked before a request. */
  trustedMs?: number | undefined;
}

/**
 * One connection to APNs (HTTP/2), with several requests at a time. It is not used again after APNs announced its end (GOAWAY), a request took too
 * long or a ping was not answered; requests in progress may still finish.
 */
export class ApnsSession {
  private readonly session: ClientHttp2Session;
  private readonly trustedMs: number;
  private readonly connected: Promise<void>;
  private usedMs = performance.now();
  private hasEnded = false;
  /** The last request that APNs processed, and the reason, after a GOAWAY. */
  private goAway: { lastId: number; reason: string } | null = null;
  private error: Error | null = null;

  constructor(origin: string, { ca, trustedMs = TRUSTED_MS }: ApnsSessionOptions) {
    this.trustedMs = trustedMs;
    this.session = connect(origin, { settings: { enablePush: false }, ...(ca !== undefined && { ca }) });
    this.session.unref();
    this.connected = new Promise((resolve, reject) => {
      const timer = setTimeout(() => this.session.destroy(new Error('no connection within 10 s')), CONNECT_MS);
      this.session.once('connect', () => {
        clearTimeout(timer);
        resolve();
      });
      this.session.once('close', () => {
        clearTimeout(timer);
        this.hasEnded = true;
        reject(new ApnsFailure(this.error?.message ?? 'the connection was closed', false));
      });
    });
    this.connected.catch(() => undefined);
    this.session.on('error', (error) => (this.error ??= error));
    this.session.on('goaway', (_code, lastId, data) => {
      this.hasEnded = true;
      const reason = textAt(parsedJson(Buffer.from(data ?? []).toString('utf8')), 'reason');
      this.goAway ??= {
        lastId,
        reason: reason === null ? 'APNs closed the connection' : `APNs closed the connection: ${reason}`,
      };
    });
  }

  get isUsable(): boolean {
    return !this.hasEnded && !this.session.closed && !this.session.destroyed;
  }

  /** Waits until a request can be sent. Rejects with `ApnsFailure`. */
  async ready(): Promise<void> {
    await this.connected;
    if (performance.now() - this.usedMs > this.trustedMs) await this.ping();
    if (!this.isUsable) throw new ApnsFailure(this.goAway?.reason ?? 'the connection was closed', false);
    this.usedMs = performance.now();
  }

  /** Sends a request. Rejects with `ApnsFailure`. */
  request(headers: OutgoingHttpHeaders, body: Buffer, signal: AbortSignal): Promise<ApnsAnswer> {
    let stream: ClientHttp2Stream;
    try {
      stream = this.session.request(headers, { endStream: false });
    } catch (error) {
      return Promise.reject(new ApnsFailure((error as Error).message, false));
    }
    return new Promise((resolve, reject) => {
      const answer: ApnsAnswer = { status: 0, answer: '', retryAfter: undefined };
      let error: Error | null = null;
      const abort = (): void => {
        this.retire();
        stream.close(constants.NGHTTP2_CANCEL);
        // Does not wait until a connection that may be dead takes the frame.
        stream.destroy();
      };
      signal.addEventListener('abort', abort);
      stream.setEncoding('utf8');
      stream.on('response', (head) => {
        answer.status = head[':status'] ?? 0;
        answer.retryAfter = head['retry-after'];
      });
      stream.on('data', (text: string) => {
        if (answer.answer.length < MOST_ANSWER_LENGTH) answer.answer += text.slice(0, MOST_ANSWER_LENGTH);
        else stream.close(constants.NGHTTP2_CANCEL);
      });
      stream.on('error', (failure) => (error = failure));
      stream.once('close', () => {
        signal.removeEventListener('abort', abort);
        this.usedMs = performance.now();
        // The status counts, even if the body is cut short.
        if (answer.status !== 0) resolve(answer);
        else reject(this.failureOf(stream, error ?? this.error));
      });
      if (signal.aborted) abort();
      else stream.end(body);
    });
  }

  /** Closes the connection when the requests in progress have ended, a dead one later. */
  private retire(): void {
    this.hasEnded = true;
    if (this.session.closed) return;
    this.session.close();
    setTimeout(() => this.session.destroy(), RETIRED_MS).unref();
  }

  destroy(): void {
    this.hasEnded = true;
    this.session.destroy();
  }

  private ping(): Promise<void> {
    return new Promise((resolve, reject) => {
      const fail = (): void => {
        this.destroy();
        reject(new ApnsFailure('the connection broke while it was idle', false));
      };
      const timer = setTimeout(fail, PING_MS);
      const isSent =
        this.isUsable &&
        this.session.ping((error) => {
          clearTimeout(timer);
          if (error === null) resolve();
          else fail();
        });
      if (isSent) return;
      clearTimeout(timer);
      fail();
    });
  }

  private failureOf(stream: ClientHttp2Stream, error: Error | null): ApnsFailure {
    const isBeyond = this.goAway !== null && stream.id !== undefined && stream.id > this.goAway.lastId;
    const isUntouched = isBeyond || stream.id === undefined || stream.rstCode === constants.NGHTTP2_REFUSED_STREAM;
    const reason = this.goAway?.reason ?? error?.message ?? 'the connection broke before an answer came';
    return new ApnsFailure(reason, !isUntouched);
  }
}
