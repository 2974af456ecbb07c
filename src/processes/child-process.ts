import type { ChildProcess } from 'node:child_process';
import type { Registry } from 'prom-client';
import { familiesOf, type Family, labelled } from '../telemetry/metrics.ts';

/** Makes a process end with its parent, even if that was killed. Does nothing without a parent. */
export function endWithParent(): void {
  if (process.send === undefined) return;
  process.once('disconnect', () => process.kill(process.pid, 'SIGTERM'));
}

/** Variables of a supervised process: a UUID that identifies it, and those of its predecessors that have exited. */
export const RUN = 'SUPERVISED_RUN';
export const ENDED_RUNS = 'SUPERVISED_ENDED_RUNS';

/** This process and its predecessors, as the supervisor names them; `undefined` without a supervisor. */
export function supervisedRuns(): { run: string; ended: readonly string[] } | undefined {
  const run = process.env[RUN];
  if (process.send === undefined || run === undefined) return undefined;
  return { run, ended: process.env[ENDED_RUNS]?.split(' ') ?? [] };
}

/** The message with which a child reports that it is ready. */
export const READY = 'ready';

export function tellReady(): void {
  process.send?.(READY);
}

/**
 * Messages that gather metrics. A child whose metrics are requested asks its parent (`ask`). The parent asks every child
 * (`collect`), each sends its own (`collected`), and the parent sends all of them to the first child (`gathered`).
 */
type Message =
  | { metrics: 'ask'; id: number }
  | { metrics: 'collect'; id: number }
  | { metrics: 'collected'; id: number; families: Family[] }
  | { metrics: 'gathered'; id: number; families: Family[] };

/** Time limit for a process's answer, after which its metrics are omitted; the parent gets a little longer; ms. */
const PATIENCE_MS = { child: 1_000, parent: 1_500 };

const isMessage = (value: unknown): value is Message =>
  typeof value === 'object' && value !== null && 'metrics' in value && 'id' in value;

type Children = () => readonly (readonly [name: string, process: ChildProcess])[];

/** The parent's side, for each child: answers requests with the labelled metrics of all processes. */
export function gatherFor(children: Children, own: () => Promise<Family[]>): (child: ChildProcess) => void {
  let lastId = 0;
  const collect = (child: ChildProcess): Promise<Family[]> =>
    new Promise((resolve) => {
      lastId += 1;
      const id = lastId;
      const done = (families: Family[]): void => {
        clearTimeout(timer);
        child.off('message', onMessage);
        resolve(families);
      };
      const onMessage = (message: unknown): void => {
        if (isMessage(message) && message.metrics === 'collected' && message.id === id) done(message.families);
      };
      const timer = setTimeout(() => done([]), PATIENCE_MS.child);
      child.on('message', onMessage);
      send(child, { metrics: 'collect', id });
    });
  return (child) => {
    child.on('message', (message) => {
      if (!isMessage(message) || message.metrics !== 'ask') return;
      const all = children().map(async ([name, one]) => labelled(await collect(one), { process: name }));
      void Promise.all([own(), ...all]).then((lists) =>
        send(child, { metrics: 'gathered', id: message.id, families: lists.flat() }),
      );
    });
  };
}

export const ownMetrics =
  (registry: Registry, name: string): (() => Promise<Family[]>) =>
  async () =>
    labelled(await familiesOf(registry), { process: name });

/**
 * A child's side. Answers the parent with the registry's metrics. The returned function resolves with the metrics of all of
 * the parent's processes, or, without a parent or an answer, with those of this process under `name`.
 */
export function gatheredMetrics(registry: Registry, name: string): () => Promise<Family[]> {
  const own = ownMetrics(registry, name);
  if (process.send === undefined) return own;
  const waiting = new Map<number, (families: Family[]) => void>();
  process.on('message', (message) => {
    if (!isMessage(message)) return;
    if (message.metrics === 'gathered') waiting.get(message.id)?.(message.families);
    if (message.metrics !== 'collect') return;
    void familiesOf(registry)
      .catch(() => [])
      .then((families) => send(process, { metrics: 'collected', id: message.id, families }));
  });
  let lastId = 0;
  return async () => {
    lastId += 1;
    const id = lastId;
    let timer: NodeJS.Timeout | undefined;
    const gathered = await new Promise<Family[] | null>((resolve) => {
      timer = setTimeout(() => resolve(null), PATIENCE_MS.parent);
      waiting.set(id, resolve);
      send(process, { metrics: 'ask', id });
    });
    clearTimeout(timer);
    waiting.delete(id);
    return gathered ?? own();
  };
}

/** Ignores processes that are ending. */
function send(
  to: { send?: ChildProcess['send'] | NodeJS.Process['send']; connected: boolean },
  message: Message,
): void {
  if (to.connected) to.send?.(message, undefined, undefined, () => undefined);
}
