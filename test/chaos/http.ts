import { Agent, request, type IncomingHttpHeaders } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';

/** An answer, its body parsed. */
export interface Reply {
  status: number;
  headers: IncomingHttpHeaders;
  body: unknown;
}

/** Above the time in which a frontend answers, whatever hangs behind it. */
const TIMEOUT_MS = 8_000;

/** Idle connections are closed sooner than the frontend does it (10 s): a request would meet that, and be reset. */
const IDLE_MS = 4_000;

/** How long, and how often, what is not served is asked for again. */
const PATIENCE_MS = 30_000;
const RETRY_MS = 100;

/** Calls one surface over keep-alive connections. A connection that breaks, or no answer in time, rejects: nothing is sent twice here. */
export class HttpClient {
  private readonly agent = new Agent({ keepAlive: true, maxSockets: 32, timeout: IDLE_MS });
  private readonly port: number;
  private readonly key: string;
  private readonly tenantId: string | null;

  /** `tenantId`: whose calls they are; null: the organisation's own tenant's. */
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

  /** A GET whose 503s are asked again for a while: an audit begins when all is served, which a machine that stands still may undo. */
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
