import { fork } from 'node:child_process';
import { join } from 'node:path';
import { PACKAGE_ROOT } from '../../../src/package-root.ts';
import { exitOf, messageOf } from '../../stack/child-process.ts';

/** A request to send again and again: so many a second, or so many at once. */
export type Attack = {
  url: string;
  method: string;
  headers: Record<string, string>;
  body: string | null;
  /** Whether each needs another `Idempotency-Key`. */
  isKeyed: boolean;
} & ({ perSecond: number } | { atOnce: number });

/** A process that sends requests, so that sending them takes no time of the test. */
export interface Attacker {
  begin(attack: Attack): void;
  /** Resolves when all requests are answered. */
  end(): Promise<void>;
  close(): Promise<void>;
}

export function startAttacker(): Attacker {
  const child = fork(join(PACKAGE_ROOT, 'test/abuse/costliest/attack.mjs'));
  return {
    begin: (attack) => void child.send(attack),
    end: async () => {
      child.send('end');
      await messageOf(child);
    },
    close: async () => {
      child.disconnect();
      await exitOf(child);
    },
  };
}
