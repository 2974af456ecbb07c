/**
 * `npm run bench -- [name] [arguments]`: runs one benchmark; without a name, the main one (`throughput.ts`). The header of
 * each file describes its arguments.
 */
import { fork } from 'node:child_process';
import { WORKER_NODE_OPTIONS } from '../src/processes/first-start.ts';

const BENCHES: Readonly<Record<string, () => Promise<unknown>>> = {
  throughput: () => import('./throughput.ts'),
  instructions: () => import('./instructions.ts'),
  memory: () => import('./memory.ts'),
  latency: () => import('./latency.ts'),
  idle: () => import('./idle.ts'),
  persist: () => import('./persist.ts'),
  history: () => import('./history.ts'),
  analytics: () => import('./analytics.ts'),
  rebuild: () => import('./rebuild.ts'),
  scaling: () => import('./scaling.ts'),
  spread: () => import('./spread.ts'),
  contention: () => import('./contention.ts'),
};

const [name = ''] = process.argv.slice(2);
if (name !== '' && !name.startsWith('-') && !Object.hasOwn(BENCHES, name)) {
  console.error(`There is no benchmark "${name}". There are: ${Object.keys(BENCHES).join(', ')}.`);
  process.exitCode = 1;
} else if (name === 'persist' && !WORKER_NODE_OPTIONS.every((option) => process.execArgv.includes(option))) {
  // A persister's CPU depends on the size of the young generation, which is set when a process starts.
  const options = { execArgv: [...process.execArgv, ...WORKER_NODE_OPTIONS] };
  fork(process.argv[1]!, process.argv.slice(2), options).once('exit', (code) => (process.exitCode = code ?? 1));
} else {
  const isNamed = Object.hasOwn(BENCHES, name);
  if (isNamed) process.argv.splice(2, 1);
  await BENCHES[isNamed ? name : 'throughput']!();
}
