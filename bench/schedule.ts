import { connect, type Socket } from 'node:net';
import { outcomeOf, type LoadJob, type Outcome, type Pace } from './jobs.ts';
import { RequestMaker, requestText } from './requests.ts';

/** Bursts: this often, all of a period's requests in this part of it. */
const BURST_MS = { every: 1000, lasting: 250 };

/**
 * Requests on a schedule that does not wait for answers (Poisson arrivals, evenly or in bursts), latencies from when
 * each was due. Not autocannon: its rate limit sends a second's requests at the second's beginning, as fast as they
 * are answered, so that half of the capacity would be full load for half of the time.
 */
export async function onSchedule(job: LoadJob, pace: Exclude<Pace, 'flat out'>): Promise<Outcome> {
  const { connections, amount } = job;
  const maker = new RequestMaker(job);
  const requests = Array.from({ length: amount }, () => maker.next());
  const texts = requests.map((request) => requestText(request));
  const dueMs = arrivals(amount, pace);

  const latencies = new Float64Array(amount);
  const statuses: Record<string, number> = {};
  const { hostname, port } = new URL(job.url);
  const idle: Connection[] = [];
  let sent = 0;
  let answered = 0;
  let processed = 0;
  let startMs = 0;
  let ended = (): void => undefined;

  const send = (): void => {
    const nowMs = performance.now() - startMs;
    while (sent < amount && dueMs[sent]! <= nowMs) {
      const connection = idle.pop();
      if (connection === undefined) return;
      connection.request = sent;
      connection.socket.write(texts[sent++]!);
    }
  };
  const all = await Promise.all(
    Array.from({ length: connections }, () =>
      Connection.open(Number(port), hostname, (connection, status) => {
        const { events, done } = requests[connection.request]!;
        latencies[answered++] = performance.now() - startMs - dueMs[connection.request]!;
        statuses[status] = (statuses[status] ?? 0) + 1;
        if (status === String(done)) processed += events;
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
  return outcomeOf({ seconds: (performance.now() - startMs) / 1000, statuses, processed, latencies });
}

/** When each request is due, ms from the start. */
function arrivals(amount: number, pace: { rate: number } | { burstRate: number }): Float64Array {
  const rate = 'rate' in pace ? pace.rate : pace.burstRate;
  const dueMs = new Float64Array(amount);
  for (let no = 1, at = 0; no < amount; no++) dueMs[no] = at += (-Math.log(1 - Math.random()) / rate) * 1000;
  if ('rate' in pace) return dueMs;
  const { every, lasting } = BURST_MS;
  return dueMs.map((at) => Math.floor(at / every) * every + (at % every) * (lasting / every));
}

/** One connection, one request at a time. Reads no more of an answer than its status and where it ends. */
class Connection {
  readonly socket: Socket;
  /** The number of the request that it carries. */
  request = 0;
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
