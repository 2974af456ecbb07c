import { Readable } from 'node:stream';
import type { Agent } from 'undici';
import { filledBody, ruleFor, type StoredProvider } from '../../domain/notifications/http-provider.ts';
import { version } from '../../version.ts';
import { guardedAgent, type GuardOptions, TargetRefused } from '../webhooks/guarded-agent.ts';
import { post, unansweredText } from '../webhooks/guarded-post.ts';
import {
  CUT_OFF,
  type Email,
  type EmailSender,
  LIST_UNSUBSCRIBE_POST,
  listUnsubscribeOf,
  messageIdOf,
  type SendOutcome,
  type SendResult,
  shortReason,
  TIMEOUT_MS,
  TOO_LONG,
} from './email-sender.ts';

/** How a tenant's e-mails are posted to a provider. */
export interface HttpChannel extends Omit<StoredProvider, 'secretHeaders'> {
  secretHeaders: Record<string, string>;
  senderAddress: string;
  senderName: string | null;
  replyTo: string | null;
}

export interface HttpOptions extends GuardOptions {
  /** Longest time of an attempt as a whole. */
  timeoutMs?: number;
}

/**
 * Posts e-mails of one channel, each once. An attempt that breaks after the request was begun and before the status of the answer
 * has an unknown result.
 */
export class HttpSender implements EmailSender {
  private readonly channel: HttpChannel;
  private readonly options: HttpOptions;
  private readonly agent: Agent;
  private readonly attempts = new Set<AbortController>();

  constructor(channel: HttpChannel, options: HttpOptions) {
    this.channel = channel;
    this.options = options;
    this.agent = guardedAgent(options);
  }

  async send(email: Email): Promise<SendResult> {
    const ending = new AbortController();
    const timer = setTimeout(() => ending.abort(new Error(TOO_LONG)), this.options.timeoutMs ?? TIMEOUT_MS);
    this.attempts.add(ending);
    const progress = { isHandedOver: false };
    try {
      return await this.attempt(email, progress, ending.signal);
    } catch (error) {
      const outcome = progress.isHandedOver ? 'unknown' : 'later';
      const reason = ending.signal.aborted ? (ending.signal.reason as Error).message : reasonOf(error as Error);
      return { outcome, reason: shortReason(reason), concernsServer: true };
    } finally {
      clearTimeout(timer);
      this.attempts.delete(ending);
    }
  }

  cutOff(): void {
    for (const attempt of this.attempts) attempt.abort(new Error(CUT_OFF));
  }

  close(): void {
    void this.agent.close().catch(() => undefined);
  }

  private async attempt(email: Email, progress: { isHandedOver: boolean }, signal: AbortSignal): Promise<SendResult> {
    const { url, headers, secretHeaders, body, answers } = this.channel;
    const content = Buffer.from(JSON.stringify(filledBody(body, this.values(email))));
    const { status, answer, retryAfterMs } = await post(this.agent, {
      url: new URL(url),
      headers: {
        ...headers,
        ...secretHeaders,
        'Content-Type': 'application/json',
        'Content-Length': String(content.length),
        'User-Agent': `Laurel/${version()}`,
      },
      body: handedOverBy(content, progress),
      signal,
    });
    const rule = ruleFor(answers, status, parsed(answer));
    const outcome = rule?.outcome ?? outcomeOf(status);
    if (outcome === 'sent') return { outcome, reason: null, concernsServer: false };
    return {
      outcome,
      reason: shortReason(`answered ${status}${answer === '' ? '' : `: ${answer}`}`),
      // What a field says is about this e-mail.
      concernsServer: outcome === 'unknown' || (outcome === 'later' && typeof rule?.field !== 'string'),
      retryAfterMs,
    };
  }

  private values(email: Email) {
    const { senderAddress, senderName, replyTo } = this.channel;
    const listUnsubscribe = listUnsubscribeOf(email);
    return {
      from: senderName === null ? senderAddress : `"${senderName.replaceAll(/["\\]/g, '\\$&')}" <${senderAddress}>`,
      fromAddress: senderAddress,
      fromName: senderName,
      to: email.to,
      replyTo,
      subject: email.subject,
      html: email.html,
      text: email.text,
      id: email.id,
      messageId: messageIdOf(email.id, senderAddress),
      unsubscribeUrl: email.unsubscribeUrl,
      listUnsubscribe,
      listUnsubscribePost: listUnsubscribe === null ? null : LIST_UNSUBSCRIBE_POST,
    };
  }
}

/** The content as a stream, which is read only when it is written to a connection. */
const handedOverBy = (content: Buffer, progress: { isHandedOver: boolean }): Readable =>
  new Readable({
    read() {
      progress.isHandedOver = true;
      this.push(content);
      this.push(null);
    },
  });

const reasonOf = (error: Error): string => (error instanceof TargetRefused ? error.message : unansweredText(error));

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** Statuses that say something about this e-mail. An administrator can correct what causes the others below 500. */
const ABOUT_CONTENT: ReadonlySet<number> = new Set([400, 409, 413, 415, 422]);
/** A gateway answers for a server that may have taken the e-mail. */
const OF_GATEWAYS: ReadonlySet<number> = new Set([502, 504]);

function outcomeOf(status: number): SendOutcome {
  if (status >= 200 && status < 300) return 'sent';
  if (ABOUT_CONTENT.has(status)) return 'refused';
  return OF_GATEWAYS.has(status) ? 'unknown' : 'later';
}
