// A built frontend that kills itself at a moment of a merge or a claim: DIE_AT=merge computed.
import { systemClock } from '../../dist/in-few-files/src/clock.js';
import { openLaurel } from '../../dist/in-few-files/src/processes/composition.js';
import { serve } from '../../dist/in-few-files/src/processes/serve.js';
import { createLog } from '../../dist/in-few-files/src/telemetry/log.js';

const { REDIS_URL, DATABASE_URL, DIE_AT } = process.env;
const log = createLog({ level: 'fatal', name: 'test' });
const dieOf = (of) => (moment) => {
  if (`${of} ${moment}` !== DIE_AT) return undefined;
  process.kill(process.pid, 'SIGKILL');
  // Nothing may happen between the signal and the end.
  return new Promise(() => undefined);
};
const laurel = await openLaurel({
  redisUrl: REDIS_URL,
  databaseUrl: DATABASE_URL,
  backlogLimit: 100_000,
  backlogLimitBytes: 1_073_741_824,
  acknowledgeMs: null,
  webhookAllowPrivate: true,
  publicUrl: null,
  secretsKey: null,
  clock: systemClock,
  onClaimMoment: dieOf('claim'),
  log,
});
laurel.services.merges.options.onMoment = dieOf('merge');
const { appPort, adminPort } = await serve(laurel, {
  host: '127.0.0.1',
  adminHost: '127.0.0.1',
  appPort: 0,
  adminPort: 0,
  bodyBytes: 4_194_304,
  corsOrigin: '*',
  sharedPort: false,
  rateLimits: { applicationPerSecond: 0, adminPerSecond: 0, filesPerSecond: 0 },
  failedKeyLimit: null,
  trustedProxies: [],
  log,
});
process.send({ appPort, adminPort });
