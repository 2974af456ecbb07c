import { fork } from 'node:child_process';
import { join } from 'node:path';
import { PACKAGE_ROOT } from '../../../src/package-root.ts';
import { exitOf, messageOf } from '../../stack/child-process.ts';

/** A process that sends events of a tenant and measures their latency, so that other work of the test does not count. */
export interface Victim {
  /** The latencies in ms of events that are sent evenly for so long. */
  latencies(seconds: number): Promise<number[]>;
  close(): Promise<void>;
}

export function startVictim(options: { url: string; key: string; tenantId: string }): Victim {
  const child = fork(join(PACKAGE_ROOT, 'test/abuse/costliest/send-events.mjs'));
  return {
    latencies: async (seconds) => {
      child.send({ ...options, seconds });
      return messageOf<number[]>(child);
    },
    close: async () => {
      child.disconnect();
      await exitOf(child);
    },
  };
}
