import { connect, type Socket } from 'node:net';
import { outcomeOf, type LoadJob, type Outcome } from './jobs.ts';
import { EventMaker } from './shape.ts';

/**
 * Requests on a schedule that does not wait for answers (Poisson arrivals), latencies from when each was due.
 * Not autocannon: its rate limit sends a second's requests at the second's beginning, as fast as they are
 * answered, so that half of the capacity would be full load for half of the time.
 */
export async function onSchedule(job: LoadJob, rate: number): Promise<Outcome> {
  const { connections, amount, crowd, shape, seed } = job;
  const maker = new EventMaker(shape, crowd, seed);
  const requests = Array.from({ length: amount }, () => requestText(job, maker));
  const dueMs = new Float64Array(amount);
  for (let no = 1, at = 0; no < amount; no++) dueMs[no] = at += (-Math.log(1 - Math.random()) / rate) * 1000;

  const latencies = new Float64Array(amount);
  const statuses: Record<string, number> = {};
  const { hostname, port } = new URL(job.url);
  const idle: Connection[] = [];
  let sent = 0;
  let answered = 0;
  let startMs = 0;
  let ended = (): void => undefined;

  const send = (): void => {
    const nowMs = performance.now() - startMs;
    while (sent < amount && dueMs[sent]! <= nowMs) {
      const connection = idle.pop();
      if (connection === undefined) return;
      connection.due = dueMs[sent]!;
      connection.socket.write(requests[sent++]!);
    }
  };
  const all = await Promise.all(
    Array.from({ length: connections }, () =>
      Connection.open(Number(port), hostname, (connection, status) => {
        latencies[answered++] = performance.now() - startMs - connection.due;
        statuses[status] = (statuses[status] ?? 0) + 1;
        idle.push(connection);
        if (answered === amount) ended();
        else send();
      }),
    ),
  );
  idle.push(...all);
  startMs = performance.now();
  const timer = setInterval(send, 1);
  await new Promise<void>((resolve) => (ended = resolve));
  clearInterval(timer);
  for (const { socket } of all) socket.destroy();
  return outcomeOf((performance.now() - startMs) / 1000, statuses, latencies);
}

function requestText({ apiKey }: LoadJob, maker: EventMaker): Buffer {
  const { metricKey, event, idempotencyKey } = maker.next();
  const body = JSON.stringify(event);
  const key = idempotencyKey === null ? '' : `Idempotency-Key: ${idempotencyKey}\r\n`;
  return Buffer.from(
    `POST /v1/metrics/${metricKey}/event HTTP/1.1\r\nHost: bench\r\nContent-Type: application/json\r\n` +
      `X-API-KEY: ${apiKey}\r\n${key}Content-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`,
  );
}

/** One connection, one request at a time. Reads no more of an answer than its status and where it ends. */
class Connection {
  readonly socket: Socket;
  /** When its request was due, ms from the start. */
  due = 0;
  private received = Buffer.alloc(0);

  private constructor(socket: Socket, answered: (connection: Connection, status: string) => void) {
    this.socket = socket;
    socket.setNoDelay(true);
    socket.on('data', (chunk) => {
      this.received = this.received.length === 0 ? chunk : Buffer.concat([this.received, chunk]);
      const head = this.received.indexOf('\r\n\r\n');
      if (head === -1) return;
      const length = /content-length: (\d+)/i.exec(this.received.toString('latin1', 0, head))?.[1] ?? '0';
      if (this.received.length < head + 4 + Number(length)) return;
      const status = this.received.toString('latin1', 9, 12);
      this.received = Buffer.alloc(0);
      answered(this, status);
    });
  }

  static async open(
    port: number,
    host: string,
    answered: (connection: Connection, status: string) => void,
  ): Promise<Connection> {
    const socket = connect({ port, host });
    await new Promise((resolve, reject) => socket.once('connect', resolve).once('error', reject));
    return new Connection(socket, answered);
  }
}
