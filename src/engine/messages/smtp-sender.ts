import MailComposer from 'nodemailer/lib/mail-composer';
import SMTPConnection from 'nodemailer/lib/smtp-connection';
import { lookup } from 'node:dns/promises';
import { isIP } from 'node:net';
import { Readable } from 'node:stream';
import { isPublicAddress } from '../../catalog/rules/webhook.ts';

/** How a tenant's e-mails are sent. */
export interface SmtpChannel {
  host: string;
  port: number;
  /** `tls` from the first byte, `starttls` before the login, or `none`. */
  security: 'tls' | 'starttls' | 'none';
  username: string | null;
  password: string | null;
  from: string;
  replyTo: string | null;
}

export interface Email {
  /** Unique; the `Message-ID` is made from it. */
  id: string;
  to: string;
  subject: string;
  text: string;
  html: string;
  unsubscribeUrl: string;
}

/**
 * How an attempt ended. `sent`: the server took responsibility. `later`: it certainly did not, and may when asked again.
 * `refused`: it never will. `bad_address`: it refused the recipient for good. `unknown`: the connection broke after the
 * content was handed over, before the answer; sending again could send it twice.
 */
export type SendOutcome = 'sent' | 'later' | 'refused' | 'bad_address' | 'unknown';

export interface SendResult {
  outcome: SendOutcome;
  /** For administrators: the server's answer, or what went wrong; `null` if sent. */
  reason: string | null;
}

export interface SmtpOptions {
  /** Whether private, loopback and link-local addresses are allowed. */
  allowPrivate: boolean;
  /** Longest silence of the server. */
  timeoutMs?: number;
  /** Certificate authorities besides the system's, for tests. */
  ca?: string;
}

const TIMEOUT_MS = 30_000;
/** A server may close idle connections; RFC 5321 asks for five minutes of patience. */
const IDLE_MS = 20_000;
const MOST_IDLE = 4;
const REASON_LENGTH = 300;

/** Sends e-mails of one channel. Keeps a few connections open. */
export class SmtpSender {
  private readonly channel: SmtpChannel;
  private readonly options: SmtpOptions;
  private readonly idle: { connection: SMTPConnection; timer: NodeJS.Timeout }[] = [];

  constructor(channel: SmtpChannel, options: SmtpOptions) {
    this.channel = channel;
    this.options = options;
  }

  /** Tries once. Never rejects. */
  async send(email: Email): Promise<SendResult> {
    const content = await this.compose(email).catch((error: unknown) => error as Error);
    if (content instanceof Error) return { outcome: 'refused', reason: reasonOf(content) };
    // Only an idle connection can have been closed meanwhile; a new one is then worth another attempt at once.
    for (;;) {
      const kept = this.takeIdle();
      const connection = kept ?? (await this.connect().catch((error: unknown) => error as Error));
      if (connection instanceof Error) return { outcome: outcomeOf(connection, false), reason: reasonOf(connection) };
      const { error, handedOver } = await handOver(connection, { from: this.envelopeFrom(), to: email.to, content });
      if (error === null) {
        this.keep(connection);
        return { outcome: 'sent', reason: null };
      }
      connection.close();
      if (kept !== null && !handedOver && error.responseCode === undefined) continue;
      return { outcome: outcomeOf(error, handedOver), reason: reasonOf(error) };
    }
  }

  /** Closes idle connections. */
  close(): void {
    for (const { connection, timer } of this.idle.splice(0)) {
      clearTimeout(timer);
      connection.quit();
    }
  }

  private envelopeFrom(): string {
    return /<([^<>]*)>\s*$/.exec(this.channel.from)?.[1] ?? this.channel.from;
  }

  private compose({ id, to, subject, text, html, unsubscribeUrl }: Email): Promise<Buffer> {
    const { from, replyTo } = this.channel;
    const composer = new MailComposer({
      from,
      // As an object: an address is never parsed as a list.
      to: { name: '', address: to },
      ...(replyTo !== null && { replyTo }),
      subject,
      text,
      html,
      messageId: `<${id}@${this.envelopeFrom().split('@').at(-1)}>`,
      headers: {
        'List-Unsubscribe': { prepared: true, value: `<${unsubscribeUrl}>` },
        'List-Unsubscribe-Post': 'List-Unsubscribe=One-Click',
        'Auto-Submitted': 'auto-generated',
      },
      disableFileAccess: true,
      disableUrlAccess: true,
    });
    return new Promise((resolve, reject) => {
      composer.compile().build((error, content) => (error ? reject(error) : resolve(content)));
    });
  }

  private takeIdle(): SMTPConnection | null {
    for (let kept = this.idle.pop(); kept !== undefined; kept = this.idle.pop()) {
      clearTimeout(kept.timer);
      if (!kept.connection.destroyed) return kept.connection;
    }
    return null;
  }

  private keep(connection: SMTPConnection): void {
    if (this.idle.length >= MOST_IDLE) {
      connection.quit();
      return;
    }
    const timer = setTimeout(() => {
      this.idle.splice(
        this.idle.findIndex((kept) => kept.connection === connection),
        1,
      );
      connection.quit();
    }, IDLE_MS);
    timer.unref();
    this.idle.push({ connection, timer });
  }

  private async connect(): Promise<SMTPConnection> {
    const { host, port, security, username, password } = this.channel;
    const { timeoutMs = TIMEOUT_MS, ca } = this.options;
    const connection = new SMTPConnection({
      host: await this.address(host),
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
  private async address(host: string): Promise<string> {
    const found = isIP(host) === 0 ? (await lookup(host, { all: true })).map(({ address }) => address) : [host];
    const allowed = found.find((address) => this.options.allowPrivate || isPublicAddress(address));
    if (allowed === undefined) throw new Error('the address of the mail server is not public');
    return allowed;
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

function outcomeOf({ code, command, responseCode }: Failure, handedOver: boolean): SendOutcome {
  const isLogin = code === 'EAUTH' || command?.startsWith('AUTH') === true;
  // An administrator can correct the login and what concerns no single message.
  if (isLogin || (responseCode !== undefined && responseCode < PERMANENT)) return 'later';
  if (responseCode !== undefined) {
    if (command === 'RCPT TO') return 'bad_address';
    return command === 'MAIL FROM' || command === 'DATA' ? 'refused' : 'later';
  }
  if (handedOver) return 'unknown';
  // The library refuses an address that cannot be part of a command.
  return code === 'EENVELOPE' ? 'bad_address' : 'later';
}

const reasonOf = ({ response, message }: Failure): string =>
  (typeof response === 'string' && response !== '' ? response : message)
    .replaceAll(/\s+/g, ' ')
    .slice(0, REASON_LENGTH);
