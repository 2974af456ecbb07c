import { Agent, request, type IncomingHttpHeaders } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { eventually } from './processes.ts';

/** An answer with its parsed body. */
export interface Reply {
  status: number;
  headers: IncomingHttpHeaders;
  body: unknown;
}

/** Longer than a frontend on a busy machine takes to answer if a server behind it hangs. */
const TIMEOUT_MS = 15_000;

/** Shorter than the frontend's idle timeout (10 s), at which a request could meet a reset. */
const IDLE_MS = 4_000;

const CALLS_TO_ALL = 20;

/** How long and how often an unavailable read is retried. */
const PATIENCE_MS = 30_000;
const RETRY_MS = 100;

/**
 * Calls one API over keep-alive connections. Rejects if a connection breaks or no answer arrives in time; sends nothing
 * twice.
 */
export class HttpClient {
  private readonly agent = new Agent({ keepAlive: true, maxSockets: 32, timeout: IDLE_MS });
  private readonly port: number;
  private readonly key: string;
  private readonly tenantId: string | null;

  /** `tenantId`: the tenant of the calls; `null` for the organisation's own. */
  constructor(port: number, key: string, tenantId: string | null = null) {
    this.port = port;
    this.key = key;
    this.tenantId = tenantId;
  }

  send(
    method: string,
    path: string,
    { body, idempotencyKey }: { body?: unknown; idempotencyKey?: string } = {},
  ): Promise<Reply> {
    const headers: Record<string, string> = { 'X-API-KEY': this.key };
    if (this.tenantId !== null) headers['Tenant-ID'] = this.tenantId;
    const text = body === undefined ? undefined : JSON.stringify(body);
    if (text !== undefined) {
      headers['Content-Type'] = 'application/json';
      headers['Content-Length'] = String(Buffer.byteLength(text));
    }
    if (idempotencyKey !== undefined) headers['Idempotency-Key'] = idempotencyKey;
    return new Promise((resolve, reject) => {
      const options = { host: '127.0.0.1', port: this.port, path, method, headers, agent: this.agent };
      const sent = request(options, (response) => {
        const chunks: Buffer[] = [];
        response.on('data', (chunk: Buffer) => chunks.push(chunk));
        response.on('error', reject);
        response.on('aborted', () => reject(new Error('The answer broke off.')));
        response.on('end', () => {
          const answer = Buffer.concat(chunks).toString('utf8');
          const { statusCode = 0, headers: answered } = response;
          resolve({ status: statusCode, headers: answered, body: answer === '' ? null : JSON.parse(answer) });
        });
      });
      const timer = setTimeout(() => sent.destroy(new Error('No answer in time.')), TIMEOUT_MS);
      sent.on('close', () => clearTimeout(timer));
      sent.on('error', reject);
      sent.end(text);
    });
  }

  /**
   * Answers to simultaneous calls over separate connections. The system distributes connections over the frontends of a port,
   * so each of two frontends answers some of them, except by a chance of 1 to 500,000. Calls in a row may all reach the same.
   */
  fromAll(call: () => Promise<Reply>): Promise<Reply[]> {
    return Promise.all(Array.from({ length: CALLS_TO_ALL }, call));
  }

  /** A GET that retries 503 for a while: an audit begins when everything is served, but a stalled machine may undo that. */
  async read(path: string): Promise<Reply> {
    const deadlineMs = performance.now() + PATIENCE_MS;
    for (;;) {
      const reply = await this.send('GET', path);
      if (reply.status !== 503 || performance.now() > deadlineMs) return reply;
      await sleep(RETRY_MS);
    }
  }

  close(): void {
    this.agent.destroy();
  }
}

/** Resolves when every frontend answers a list of this length: each learns of a new configuration a moment later. */
export const knownEverywhere = (client: HttpClient, path: string, length: number): Promise<void> =>
  eventually(`every frontend knows ${length} of ${path}`, async () => {
    const replies = await client.fromAll(() => client.send('GET', path)).catch(() => []);
    return replies.length > 0 && replies.every(({ body }) => Array.isArray(body) && body.length === length);
  });
