import MailComposer from 'nodemailer/lib/mail-composer';
import SMTPConnection from 'nodemailer/lib/smtp-connection';
import { isIP } from 'node:net';
import { Readable } from 'node:stream';
import { isPublicAddress } from '../../catalog/rules/webhook.ts';
import { nameResolver, type ResolveName, TargetRefused } from '../webhooks/guarded-agent.ts';
import {
  ATTEMPT_MS,
  CUT_OFF,
  type Email,
  LIST_UNSUBSCRIBE_POST,
  listUnsubscribeOf,
  messageIdOf,
  type SendOutcome,
  type SendResult,
  reasonOf,
  TIMEOUT_MS,
  TOO_LONG,
} from './email-sender.ts';
import type { ChannelRow } from '../../postgres/notifications/message-channels.ts';

/** How a tenant's e-mails are sent. */
export interface SmtpChannel extends Pick<
  ChannelRow,
  'host' | 'port' | 'security' | 'username' | 'senderAddress' | 'senderName' | 'replyTo'
> {
  password: string | null;
}

export interface SmtpOptions {
  /** Whether private, loopback and link-local addresses are allowed. */
  allowPrivate: boolean;
  /** Longest silence of the server. */
  timeoutMs?: number;
  /** Longest time of an attempt as a whole. */
  attemptMs?: number | undefined;
  /** Default: the system's name servers, as for webhooks. */
  resolve?: ResolveName;
  /** Certificate authorities besides the system's, for tests. */
  ca?: string;
}

/** A server may close idle connections; RFC 5321 asks for five minutes of patience. */
const IDLE_MS = 20_000;
const MOST_IDLE = 4;
/** Sends e-mails of one channel. Keeps a few connections open. */
export function createSmtpSender(channel: SmtpChannel, options: SmtpOptions) {
  const { attemptMs, allowPrivate } = options;
  const attempts = new Set<Attempt>();
  const idle: { connection: SMTPConnection; timer: NodeJS.Timeout }[] = [];
  const resolve: ResolveName = options.resolve ?? nameResolver(options);

  async function send(email: Email): Promise<SendResult> {
    const content = await compose(email).catch((error: unknown) => error as Error);
    if (content instanceof Error) return { outcome: 'refused', reason: failureText(content), concernsServer: false };
    const attempt = new Attempt(attemptMs ?? ATTEMPT_MS);
    attempts.add(attempt);
    try {
      return await tryToSend(attempt, email, content);
    } finally {
      attempt.end();
      attempts.delete(attempt);
    }
  }

  async function tryToSend(attempt: Attempt, { to }: Email, content: Buffer): Promise<SendResult> {
    // Only an idle connection can have been closed meanwhile; a new one is then worth another attempt at once.
    for (;;) {
      const kept = takeIdle();
      const connection = kept ?? (await connect(attempt).catch((error: unknown) => error as Error));
      if (connection instanceof Error)
        return { outcome: outcomeOf(connection, false), reason: attempt.reasonOf(connection), concernsServer: true };
      attempt.uses(connection);
      const { error, handedOver } = await handOver(connection, { from: channel.senderAddress, to, content });
      if (error === null) {
        keep(connection);
        return { outcome: 'sent', reason: null, concernsServer: false };
      }
      connection.close();
      if (kept !== null && !handedOver && error.responseCode === undefined && !attempt.isOver) continue;
      const outcome = outcomeOf(error, handedOver);
      return { outcome, reason: attempt.reasonOf(error), concernsServer: concernsServer(error, outcome) };
    }
  }

  function cutOff(): void {
    for (const attempt of attempts) attempt.cutOff(CUT_OFF);
  }

  function close(): void {
    for (const { connection, timer } of idle.splice(0)) {
      clearTimeout(timer);
      connection.quit();
    }
  }

  function compose(email: Email): Promise<Buffer> {
    const { id, to, subject, text, html } = email;
    const listUnsubscribe = listUnsubscribeOf(email);
    const { senderAddress, senderName, replyTo } = channel;
    const composer = new MailComposer({
      from: { name: senderName ?? '', address: senderAddress },
      // As an object: an address is never parsed as a list.
      to: { name: '', address: to },
      ...(replyTo !== null && { replyTo: { name: '', address: replyTo } }),
      subject,
      text,
      html,
      messageId: messageIdOf(id, senderAddress),
      headers: {
        ...(listUnsubscribe !== null && {
          'List-Unsubscribe': { prepared: true, value: listUnsubscribe },
          'List-Unsubscribe-Post': LIST_UNSUBSCRIBE_POST,
        }),
        'Auto-Submitted': 'auto-generated',
      },
      disableFileAccess: true,
      disableUrlAccess: true,
    });
    return new Promise((resolve, reject) => {
      composer.compile().build((error, content) => (error ? reject(error) : resolve(content)));
    });
  }

  function takeIdle(): SMTPConnection | null {
    for (let kept = idle.pop(); kept !== undefined; kept = idle.pop()) {
      clearTimeout(kept.timer);
      if (!kept.connection.destroyed) return kept.connection;
    }
    return null;
  }

  function keep(connection: SMTPConnection): void {
    if (idle.length >= MOST_IDLE) {
      connection.quit();
      return;
    }
    const timer = setTimeout(() => {
      idle.splice(
        idle.findIndex((kept) => kept.connection === connection),
        1,
      );
      connection.quit();
    }, IDLE_MS);
    timer.unref();
    idle.push({ connection, timer });
  }

  async function connect(attempt: Attempt): Promise<SMTPConnection> {
    const { host, port, security, username, password } = channel;
    const { timeoutMs = TIMEOUT_MS, ca } = options;
    const address = await resolveAddress(host);
    if (attempt.isOver) throw new Error('the attempt was cut off');
    const connection = new SMTPConnection({
      host: address,
      port,
      secure: security === 'tls',
      requireTLS: security === 'starttls',
      ignoreTLS: security === 'none',
      tls: { ...(isIP(host) === 0 && { servername: host }), ...(ca !== undefined && { ca }) },
      connectionTimeout: timeoutMs,
      greetingTimeout: timeoutMs,
      socketTimeout: timeoutMs,
    });
    // Errors also reach the callbacks of a connection in use; an idle one is only closed.
    connection.on('error', () => connection.close());
    attempt.uses(connection);
    try {
      await step(connection, (done) => connection.connect(done));
      if (username !== null)
        await step(connection, (done) => connection.login({ user: username, pass: password ?? '' }, done));
    } catch (error) {
      connection.close();
      throw error;
    }
    return connection;
  }

  /** The address to connect to, looked up once, so that a name cannot change between check and use. */
  async function resolveAddress(host: string): Promise<string> {
    const addresses = isIP(host) === 0 ? await resolve(host) : [host];
    const allowed = addresses.find((address) => allowPrivate || isPublicAddress(address));
    if (allowed === undefined) throw new TargetRefused();
    return allowed;
  }

  return { send, cutOff, close };
}

export type SmtpSender = ReturnType<typeof createSmtpSender>;

/** The time limit of an attempt. At its end, the connection in use is closed, so that the step in progress fails. */
class Attempt {
  private cause: string | null = null;
  private connection: SMTPConnection | null = null;
  private readonly timer: NodeJS.Timeout;

  constructor(attemptMs: number) {
    this.timer = setTimeout(() => this.cutOff(TOO_LONG), attemptMs);
  }

  get isOver(): boolean {
    return this.cause !== null;
  }

  cutOff(cause: string): void {
    this.cause ??= cause;
    this.connection?.close();
  }

  uses(connection: SMTPConnection): void {
    this.connection = connection;
  }

  reasonOf(error: Failure): string {
    return this.cause ?? failureText(error);
  }

  end(): void {
    clearTimeout(this.timer);
  }
}

type Failure = Error & { code?: string; command?: string; responseCode?: number; response?: string };

/** Runs a step of a connection; rejects if it fails or the connection breaks meanwhile. */
function step(connection: SMTPConnection, begin: (done: (error?: Error | null) => void) => void): Promise<void> {
  return new Promise((resolve, reject) => {
    const failed = (error?: Error): void => reject(error ?? new Error('the connection was closed'));
    connection.once('error', failed);
    connection.once('end', failed);
    begin((error) => {
      connection.off('error', failed);
      connection.off('end', failed);
      if (error) reject(error);
      else resolve();
    });
  });
}

/** Sends one e-mail. `handedOver`: whether the server agreed to take the content and some of it may have been sent. */
async function handOver(
  connection: SMTPConnection,
  { from, to, content }: { from: string; to: string; content: Buffer },
): Promise<{ error: Failure | null; handedOver: boolean }> {
  let handedOver = false;
  // Is read only after the server's 354.
  const stream = new Readable({
    read() {
      handedOver = true;
      this.push(content);
      this.push(null);
    },
  });
  try {
    await step(connection, (done) => connection.send({ from, to: [to] }, stream, (error) => done(error)));
    return { error: null, handedOver };
  } catch (error) {
    return { error: error as Failure, handedOver };
  } finally {
    stream.destroy();
  }
}

const PERMANENT = 500;
/** The server closes the connection. */
const CLOSING = 421;

function outcomeOf({ code, command, responseCode }: Failure, handedOver: boolean): SendOutcome {
  const isLogin = code === 'EAUTH' || command?.startsWith('AUTH') === true;
  // An administrator can correct the login, the sender and what else concerns no single message.
  if (isLogin || (responseCode !== undefined && responseCode < PERMANENT)) return 'later';
  if (responseCode !== undefined) {
    if (command === 'RCPT TO') return 'bad_address';
    return command === 'DATA' ? 'refused' : 'later';
  }
  if (handedOver) return 'unknown';
  // The library refuses an address that cannot be part of a command.
  return code === 'EENVELOPE' ? 'bad_address' : 'later';
}

/** Whether a failure after the login is no matter of this e-mail. */
const concernsServer = ({ command, responseCode }: Failure, outcome: SendOutcome): boolean =>
  outcome === 'unknown' ||
  (outcome === 'later' && (responseCode === undefined || responseCode === CLOSING || command === 'MAIL FROM'));

const failureText = ({ response, message }: Failure): string =>
  reasonOf(typeof response === 'string' && response !== '' ? response : message);
