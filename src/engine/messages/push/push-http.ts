import { Readable } from 'node:stream';
import type { Agent } from 'undici';
import { version } from '../../../version.ts';
import { guardedAgent, type GuardOptions, TargetRefused } from '../../webhooks/guarded-agent.ts';
import { type Answer, post, unansweredText } from '../../webhooks/guarded-post.ts';
import { later, reasonOf } from './push-result.ts';
import type { PushResult } from './push-sender.ts';

export interface PushHttpOptions extends GuardOptions {
  /** Longest time of a request as a whole. */
  attemptMs?: number | undefined;
}

/** Why no answer came. */
export interface Unanswered {
  status: null;
  reason: string;
  /** Whether the other end may have got the request. */
  handedOver: boolean;
  /** Whether nothing was sent because the address is not public. */
  isRefused: boolean;
}

const ATTEMPT_MS = 30_000;

/** Requests to push services: guarded as those of webhooks, and limited in time. */
export class PushHttp {
  private readonly agent: Agent;
  private readonly attemptMs: number;
  private readonly attempts = new Set<(cause: string) => void>();
  private readonly userAgent = `Laurel/${version()}`;

  constructor({ attemptMs = ATTEMPT_MS, ...guard }: PushHttpOptions) {
    this.agent = guardedAgent(guard);
    this.attemptMs = attemptMs;
  }

  /** Sends one request. Never rejects. */
  async post(
    url: URL,
    request: { headers: Record<string, string>; body: string | Buffer },
  ): Promise<Answer | Unanswered> {
    const ended = new AbortController();
    let cause: string | null = null;
    const cutOff = (because: string): void => {
      cause ??= because;
      ended.abort();
    };
    const timer = setTimeout(cutOff, this.attemptMs, 'the attempt took too long');
    this.attempts.add(cutOff);
    let handedOver = false;
    const body = readBy(request.body, () => (handedOver = true));
    try {
      const headers = {
        'User-Agent': this.userAgent,
        'Content-Length': String(Buffer.byteLength(request.body)),
        ...request.headers,
      };
      return await post(this.agent, { url, headers, body, signal: ended.signal });
    } catch (error) {
      const reason = cause ?? (error instanceof TargetRefused ? error.message : unansweredText(error as Error));
      return { status: null, reason: reasonOf(reason), handedOver, isRefused: error instanceof TargetRefused };
    } finally {
      clearTimeout(timer);
      this.attempts.delete(cutOff);
      body.destroy();
    }
  }

  cutOff(): void {
    for (const cutOff of this.attempts) cutOff('the process ended');
  }

  close(): void {
    void this.agent.destroy();
  }
}

/** A body that notes when it is read. undici reads it only when it has a connection. */
function readBy(content: string | Buffer, onRead: () => void): Readable {
  return new Readable({
    read() {
      onRead();
      this.push(content);
      this.push(null);
    },
  });
}

/** The result of an attempt without an answer, at a provider that serves all devices. */
export const unanswered = ({ reason, handedOver }: Unanswered): PushResult =>
  handedOver
    ? { outcome: 'unknown', reason, concernsServer: true, retryAfterMs: null }
    : later(reason, { concernsServer: true });
