import { randomBytes, randomInt } from 'node:crypto';
import { accessSync, constants, writeFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { dirname } from 'node:path';
import { addressOf } from '../admin-api.ts';
import { CommandError, EXIT, jsonText, print } from '../command.ts';
import { compare, comparisonText, readResult, whyNotComparable } from './compare.ts';
import { reportPage } from './page.ts';
import { createProgress } from './progress.ts';
import { exceededBy, sustained } from './ramp.ts';
import type { LoadResult } from './result.ts';
import { clean, type LoadSettings, runLoad } from './run.ts';
import { checkedScenario, readScenario, type Scenario } from './scenario.ts';
import { SCENARIOS } from './scenarios.ts';
import { rateAt, rateCurve } from './schedule.ts';
import type { Target } from './target.ts';
import { resultText } from './text.ts';

export interface Options {
  url: string;
  key?: string;
  adminUrl?: string;
  adminKey?: string;
  tenant?: string;
  scenario: string;
  rate?: string;
  flatOut?: true;
  duration?: string;
  connections?: number;
  users?: number;
  metric?: string[];
  keyed?: number;
  retries?: boolean;
  seed?: number;
  processes?: number;
  verify?: true;
  clean?: true;
  cleanRun?: string;
  report?: string;
  json?: boolean;
  compare?: true;
  tolerance: number;
  show?: string;
}

/** Performs `laurel load`. */
export async function perform(files: string[], options: Options): Promise<void> {
  if (options.show !== undefined) return show(options.show);
  if (options.compare === true) return compareFiles(files, options);
  if (files.length > (options.json === true ? 1 : 0))
    throw new CommandError(
      `"${files.at(-1)}" has no meaning here: --scenario names a scenario, and --json takes one file for the result.`,
    );
  const target = targetOf(options);
  if (options.cleanRun !== undefined) {
    const deleted = await clean(target, options.cleanRun, createProgress());
    return print(options.json, { deleted }, `${deleted} users of the run ${options.cleanRun} deleted.\n`);
  }
  const settings = settingsOf(options, target);
  for (const file of [options.report, files[0]]) if (file !== undefined) checkFolder(file);
  const result = await runLoad(settings, createProgress(), interruption());
  write(result, options, files[0]);
  process.exitCode = exitCode(result);
}

function show(name: string): void {
  const scenario = SCENARIOS[name];
  if (scenario === undefined) throw new CommandError(`--show must be one of: ${Object.keys(SCENARIOS).join(', ')}.`);
  process.stdout.write(jsonText(scenario));
}

function compareFiles(files: readonly string[], { tolerance, json }: Options): void {
  const [before, after, more] = files;
  if (before === undefined || after === undefined || more !== undefined)
    throw new CommandError('--compare takes two files: laurel load --compare before.json after.json');
  if (!(tolerance >= 0)) throw new CommandError('--tolerance must be a share such as 0.1.');
  const results = [readResult(before), readResult(after)] as const;
  const reason = whyNotComparable(...results);
  if (reason !== null) throw new CommandError(`${before} and ${after} cannot be compared: ${reason}.`);
  const comparisons = compare(...results, tolerance);
  print(json, comparisons, comparisonText(comparisons));
  if (comparisons.some(({ decides, verdict }) => decides && verdict === 'worse')) process.exitCode = EXIT.differs;
}

function targetOf({ url, key, adminUrl, adminKey, tenant }: Options): Target {
  if (key === undefined || key === '') throw new CommandError('An admin key is required: set LAUREL_KEY or --key.');
  addressOf(url, '');
  if (adminUrl !== undefined) addressOf(adminUrl, '');
  const inTenant = { ...(tenant !== undefined && { tenant }) };
  return {
    app: { url, key, ...inTenant },
    admin: adminUrl === undefined ? null : { url: adminUrl, key: adminKey ?? key, ...inTenant },
  };
}

/** A process sends several thousand requests a second; above this it might be late. */
const RATE_A_PROCESS = 3_000;
const MOST_SEED = 2 ** 31;

function settingsOf(options: Options, target: Target): LoadSettings {
  const { rate, duration, connections, users, metric, keyed, retries, seed = randomInt(MOST_SEED) } = options;
  const given: Partial<Scenario> = {
    ...(rate !== undefined && { rate }),
    ...(duration !== undefined && { duration }),
    ...(connections !== undefined && { connections }),
    ...(users !== undefined && { users }),
    ...(keyed !== undefined && { keyed }),
    ...(retries !== undefined && { retries }),
    ...(metric !== undefined && { metrics: metric }),
  };
  const scenario = checkedScenario({ ...readScenario(options.scenario), ...given }, `--scenario ${options.scenario}`);
  if (!Number.isSafeInteger(seed)) throw new CommandError('--seed must be a whole number.');
  if (options.flatOut === true && rate !== undefined)
    throw new CommandError('--rate and --flat-out exclude each other.');
  if (options.flatOut === true && scenario.ramp !== undefined)
    throw new CommandError('--flat-out and a ramp exclude each other.');
  if (options.clean === true && target.admin === null)
    throw new CommandError('--clean needs the Admin API: give --admin-url.');
  const curve = rateCurve(scenario.rate ?? 1, 'rate');
  const fastest = options.flatOut === true ? 1 : Math.max(...curve.map(({ atMs }) => rateAt(curve, atMs)));
  return {
    target,
    scenarioName: options.scenario,
    scenario,
    flatOut: options.flatOut === true,
    processes:
      options.processes ?? Math.max(1, Math.min(Math.ceil(fastest / RATE_A_PROCESS), availableParallelism() - 1)),
    seed,
    run: randomBytes(4).toString('hex'),
    command: commandOf(process.argv.slice(2)),
    verify: options.verify === true,
    clean: options.clean === true,
  };
}

/** The command without its keys, which must not be in a report. */
function commandOf(words: readonly string[]): string {
  const shown = words.map((word, at) => {
    if (['--key', '--admin-key'].includes(words[at - 1] ?? '')) return '…';
    return word.replace(/^(--(?:admin-)?key=).*/, '$1…');
  });
  return `laurel ${shown.map((word) => (/^[\w./:=,…@-]+$/.test(word) ? word : `'${word}'`)).join(' ')}`;
}

/** Aborted by the first Ctrl-C, after which the report is still written; the second ends the process. */
function interruption(): AbortSignal {
  const controller = new AbortController();
  for (const name of ['SIGINT', 'SIGTERM'] as const)
    process.on(name, () => {
      if (controller.signal.aborted) process.exit(EXIT.failed);
      process.stderr.write('\nEnding the load; once more to leave without a report.\n');
      controller.abort();
    });
  return controller.signal;
}

/** Before the load, whose result would be lost. */
function checkFolder(file: string): void {
  try {
    accessSync(dirname(file), constants.W_OK);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    throw new CommandError(`${file} cannot be written (${code}): create its folder first.`);
  }
}

function write(result: LoadResult, options: Options, file: string | undefined): void {
  if (options.report !== undefined) writeFileSync(options.report, reportPage(result));
  if (file !== undefined) writeFileSync(file, jsonText(result));
  print(options.json === true && file === undefined, result, resultText(result));
  const written = [options.report, file].filter((name) => name !== undefined);
  if (written.length > 0) process.stderr.write(`Written: ${written.join(', ')}\n`);
}

function exitCode({ verification, scenario, summary, ramp }: LoadResult): number {
  if (verification !== null && verification.differing > 0) return EXIT.differs;
  if (ramp !== null) return sustained(ramp) === null ? EXIT.differs : EXIT.done;
  const { p99, errors, perSecond } = summary;
  const { limits } = scenario;
  const isWithin = limits === undefined || exceededBy({ rate: 0, perSecond, p99, errors }, limits) === null;
  return isWithin ? EXIT.done : EXIT.differs;
}
