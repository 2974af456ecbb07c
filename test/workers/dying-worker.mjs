// The built worker; with DIE_AT=<step> and DIE_AT_NTH=<n> it kills itself at the nth occurrence of that step. A message
// [step, n] sets both later. One that a supervisor restarts has no step to die at.
import { pino } from 'pino';
import { startWorkers } from '../../dist/in-few-files/workers/start.js';
import { supervisedRuns } from '../../dist/src/processes/child-process.js';

const { REDIS_URL, DATABASE_URL, DIE_AT, DIE_AT_NTH, TEST_CLOCK, LEASE_MS, PUBLIC_URL, EXPO_URL, SECRETS_KEY } =
  process.env;
const runs = supervisedRuns();
let [dieAt, left] = [runs?.ended.length > 0 ? undefined : DIE_AT, Number(DIE_AT_NTH)];
process.on('message', (asked) => {
  [dieAt, left] = asked;
  process.send('dies');
});
function die(step) {
  if (step !== dieAt || --left > 0) return undefined;
  process.kill(process.pid, 'SIGKILL');
  // Nothing may happen between the signal and the end.
  return new Promise(() => undefined);
}
const workers = await startWorkers({
  redisUrl: REDIS_URL,
  databaseUrl: DATABASE_URL,
  log: pino({ level: 'silent' }),
  runs,
  ...(TEST_CLOCK === '1' && { clock: 'test' }),
  ...(PUBLIC_URL && { publicUrl: PUBLIC_URL, emails: { everyMs: 50, leaseMs: 1_000, onStep: die } }),
  ...(EXPO_URL && { pushServers: { expo: EXPO_URL }, secretsKey: Buffer.from(SECRETS_KEY, 'hex') }),
  onStep: die,
  onBatchMoment: die,
  onPublishStep: die,
  onMergeStep: (step) => die(`merge ${step}`),
  onJobMoment: (moment, { kind }) => die(`${kind} ${moment}`),
  ...(LEASE_MS && { jobLeaseMs: Number(LEASE_MS) }),
  delivery: { allowPrivate: true, onStep: die, ...(LEASE_MS && { leaseMs: Number(LEASE_MS) }) },
});
// On a busy machine, the backlog of the killed workers may take longer than the usual 10 s.
process.once('SIGTERM', () => void workers.close(120_000).then(() => process.exit(0)));
process.send('ready');
