import type { Env } from '../settings/env.ts';

/** A result of `laurel doctor`. */
export interface Finding {
  check: string;
  status: 'ok' | 'warning' | 'failed' | 'skipped';
  found: string;
  advice?: string;
}

const LAG = /^laurel_persist_lag_seconds\{[^}]*\} (\S+)$/gm;

/** What a Laurel that runs on this machine says about itself; nothing without one. `patienceMs`: how long its answers may take. */
export async function runningFindings({ adminHost, adminPort }: Env, patienceMs: number): Promise<Finding[]> {
  const url = `http://${addressOf(adminHost)}:${adminPort}`;
  const read = async (path: string): Promise<Response> =>
    fetch(`${url}${path}`, { signal: AbortSignal.timeout(patienceMs) });
  try {
    const ready = (await (await read('/readyz')).json()) as { error?: string; degraded?: string[] };
    const metrics = await (await read('/metrics')).text();
    return metrics.includes('laurel_up') ? [readinessFinding(ready), ...(await storingFindings(metrics))] : [];
  } catch {
    return [];
  }
}

export const addressOf = (host: string): string =>
  ['0.0.0.0', '::'].includes(host) ? 'localhost' : host.includes(':') ? `[${host}]` : host;

function readinessFinding({ error, degraded = [] }: { error?: string; degraded?: string[] }): Finding {
  const check = 'Readiness';
  const advice = 'See docs/operating/troubleshooting.md, Requests are answered 503.';
  if (error !== undefined) return { check, status: 'failed', found: error, advice };
  if (degraded.length === 0) return { check, status: 'ok', found: 'ready' };
  return { check, status: 'warning', found: `ready, but degraded: ${degraded.join(', ')}`, advice };
}

/** Without a worker, events are accepted as usual, but not stored. */
async function storingFindings(metrics: string): Promise<Finding[]> {
  const { STORING_LATE_MS } = await import('../domain/administration/attention.ts');
  const lags = [...metrics.matchAll(LAG)].map(([, seconds]) => Number(seconds));
  if (lags.length === 0) return [];
  const check = 'Storing events';
  const lagS = Math.round(Math.max(...lags));
  if (lagS <= STORING_LATE_MS / 1_000)
    return [{ check, status: 'ok', found: 'Postgres has all events, or nearly all' }];
  return [
    {
      check,
      status: 'warning',
      found: `events have waited ${lagS} s for Postgres; no worker runs, or it cannot store them`,
      advice: 'Start a worker, or read its log. See docs/runbooks/storage.md, LaurelPersistingBehind.',
    },
  ];
}
