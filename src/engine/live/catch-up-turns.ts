import { setTimeout as sleep } from 'node:timers/promises';

/** Lets one piece of work at a time go on for each name, in the order of the calls. */
class Turns<Name> {
  private readonly last = new Map<Name, Promise<void>>();

  async run(name: Name, work: () => Promise<void>): Promise<void> {
    const turn = (this.last.get(name) ?? Promise.resolve()).then(work);
    const ended = turn.catch(() => undefined);
    this.last.set(name, ended);
    await ended;
    if (this.last.get(name) === ended) this.last.delete(name);
    return turn;
  }
}

/** A read of a catch-up is followed by a rest of so many times its length: a third of the process's time goes to them at most. */
const REST = 2;

/**
 * Decides when a stream reads what it missed. One stream of a holder (`holderOf`) reads at a time. All streams of a process take
 * turns and leave most of its time to requests, however many come back at once.
 */
export class CatchUpTurns {
  private readonly holders = new Turns<string>();
  private readonly reads = new Turns<unknown>();

  /** Has a stream catch up when those of the same holder that came before have. */
  ofHolder(holder: string, catchUp: () => Promise<void>): Promise<void> {
    return this.holders.run(holder, catchUp);
  }

  /** One read of a catch-up. `server`: where it reads; `read` resolves with the milliseconds that it kept the process. */
  read(server: unknown, read: () => Promise<number>): Promise<void> {
    return this.reads.run(server, async () => {
      const workedMs = await read();
      await sleep(workedMs * REST, undefined, { ref: false });
    });
  }
}
