import { Agent, request, type IncomingHttpHeaders } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';

/** An answer with its parsed body. */
export interface Reply {
  status: number;
  headers: IncomingHttpHeaders;
  body: unknown;
}

/** Longer than a frontend takes to answer if a server behind it hangs. */
const TIMEOUT_MS = 8_000;

/** Shorter than the frontend's idle timeout (10 s), at which a request could meet a reset. */
const IDLE_MS = 4_000;

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
