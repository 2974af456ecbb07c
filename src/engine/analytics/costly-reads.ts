import { inOwnTurn } from '../../pacing/turns.ts';

/**
 * Runs the statements of analytics that scan thousands of rows, one at a time for each tenant and process, so that they leave
 * the other processors and connections to others. Equal reads that wait share one run, which begins after their calls.
 */
export class CostlyReads {
  /** By tenant: settles when the last read that was asked for has ended. */
  private readonly last = new Map<number, Promise<unknown>>();
  /** Reads that have not begun, by tenant and name. */
  private readonly waiting = new Map<string, Promise<unknown>>();

  /** Resolves or rejects as `read` does, or as that of an equal call does. `name`: of the read and what it depends on. */
  run<T>(tenantNo: number, name: string, read: () => Promise<T>): Promise<T> {
    const key = `${tenantNo} ${name}`;
    const shared = this.waiting.get(key);
    if (shared !== undefined) return inOwnTurn(shared as Promise<T>);
    const before = this.last.get(tenantNo) ?? Promise.resolve();
    const begin = async (): Promise<T> => {
      await inOwnTurn(before);
      this.waiting.delete(key);
      return read();
    };
    const running = begin();
    this.waiting.set(key, running);
    const ended = running.then(
      () => undefined,
      () => undefined,
    );
    this.last.set(tenantNo, ended);
    void ended.then(() => this.last.get(tenantNo) === ended && this.last.delete(tenantNo));
    return inOwnTurn(running);
  }
}
