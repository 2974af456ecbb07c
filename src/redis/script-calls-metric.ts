import type { Registry } from 'prom-client';
import { DURATION_BUCKETS, Histogram, type Series } from '../metrics/series.ts';

/** Of this process: scripts are made where they are used, also when a file is imported. */
const calls = new Histogram({
  name: 'laurel_script_call_duration_seconds',
  help: 'Time that calls of scripts took, by script, the way to Redis and back included.',
  bounds: DURATION_BUCKETS,
});
const byScript = new Map<string, Series>();

/** Where the calls of a script are observed, one for all of its name. */
export function callsOf(script: string): Series {
  let series = byScript.get(script);
  if (series === undefined) byScript.set(script, (series = calls.series({ script })));
  return series;
}

/** Has the registry answer with the calls that this process makes. */
export const registerScriptCalls = (registry: Registry): void => calls.register(registry);
