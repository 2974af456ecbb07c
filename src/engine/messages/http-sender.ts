import { parsedJson } from '../../json.ts';
import { filledBody, ruleFor, type StoredProvider } from '../../domain/notifications/http-provider.ts';
import {
  type Email,
  type EmailSender,
  LIST_UNSUBSCRIBE_POST,
  listUnsubscribeOf,
  messageIdOf,
  type SendOutcome,
  type SendResult,
  reasonOf,
} from './email-sender.ts';
import { ProviderHttp, type ProviderHttpOptions } from './provider-http.ts';

/** How a tenant's e-mails are posted to a provider. */
export interface HttpChannel extends Omit<StoredProvider, 'secretHeaders'> {
  secretHeaders: Record<string, string>;
  senderAddress: string;
  senderName: string | null;
  replyTo: string | null;
}

const ANSWER_BYTES = 65_536;

/**
 * Posts e-mails of one channel, each once. An attempt that breaks after the request was begun and before the status of the answer
 * has an unknown result.
 */
export function createHttpSender(channel: HttpChannel, options: ProviderHttpOptions): EmailSender {
  const http: ProviderHttp = new ProviderHttp({ ...options, keptBytes: ANSWER_BYTES });

  async function send(email: Email): Promise<SendResult> {
    const { url, headers, secretHeaders, body, answers } = channel;
    const answered = await http.post(new URL(url), {
      headers: { ...headers, ...secretHeaders, 'Content-Type': 'application/json' },
      body: JSON.stringify(filledBody(body, values(email))),
    });
    if (answered.status === null) {
      const { reason, handedOver } = answered;
      return { outcome: handedOver ? 'unknown' : 'later', reason, concernsServer: true };
    }
    const { status, answer, retryAfterMs } = answered;
    const rule = ruleFor(answers, status, parsedJson(answer));
    const outcome = rule?.outcome ?? outcomeOf(status);
    if (outcome === 'sent') return { outcome, reason: null, concernsServer: false };
    return {
      outcome,
      reason: reasonOf(`answered ${status}${answer === '' ? '' : `: ${answer}`}`),
      // What a field says is about this e-mail.
      concernsServer: outcome === 'unknown' || (outcome === 'later' && typeof rule?.field !== 'string'),
      retryAfterMs,
    };
  }

  function cutOff(): void {
    http.cutOff();
  }

  function close(): void {
    http.close();
  }

  function values(email: Email) {
    const { senderAddress, senderName, replyTo } = channel;
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

  return { send, cutOff, close };
}

export type HttpSender = ReturnType<typeof createHttpSender>;

/** Statuses that say something about this e-mail. An administrator can correct what causes the others below 500. */
const ABOUT_CONTENT: ReadonlySet<number> = new Set([400, 409, 413, 415, 422]);
/** A gateway answers for a server that may have taken the e-mail. */
const OF_GATEWAYS: ReadonlySet<number> = new Set([502, 504]);

function outcomeOf(status: number): SendOutcome {
  if (status >= 200 && status < 300) return 'sent';
  if (ABOUT_CONTENT.has(status)) return 'refused';
  return OF_GATEWAYS.has(status) ? 'unknown' : 'later';
}
