import type { Command } from 'commander';
import type { ClockTime } from '../domain/administration/system.ts';
import { type AdminOptions, AdminRefusal, askAdmin, withAdminOptions } from './admin-api.ts';
import { CommandError, examples, print } from './command.ts';

const PATH = '/v1/clock';
/** Work that falls due may take minutes. */
const TIMEOUT_MS = 600_000;
const NOT_FOUND = 404;

const STEPS: Readonly<Record<string, number>> = { m: 60_000, h: 3_600_000, d: 86_400_000, w: 604_800_000 };

/** Adds `laurel clock`: reads and moves the test clock. */
export function addClock(laurel: Command): void {
  const clock = laurel.command('clock').description('the test clock of a Laurel that was started with TEST_CLOCK=1');
  withAdminOptions(clock.command('show', { isDefault: true }))
    .description('print the time')
    .addHelpText('after', examples('clock show'))
    .action((options: AdminOptions) => show(options, 'GET'));
  withAdminOptions(clock.command('set'))
    .description('stop the clock at a later time, after all work that falls due until then')
    .argument('<time>', 'ISO 8601, or a step such as +90m, +6h, +1d or +2w')
    .addHelpText('after', examples('clock set 2035-12-01T00:00:00Z', 'clock set +1d'))
    .action(async (time: string, options: AdminOptions) => show(options, 'PUT', { now: await timeOf(time, options) }));
  withAdminOptions(clock.command('reset'))
    .description('go back to real time')
    .addHelpText('after', examples('clock reset'))
    .action((options: AdminOptions) => show(options, 'DELETE'));
}

/** The time that a text names. A step begins at the time of the clock. */
async function timeOf(text: string, options: AdminOptions): Promise<string> {
  const [, count, unit] = /^\+(\d{1,6})([mhdw])$/.exec(text) ?? [];
  if (count === undefined && text.startsWith('+'))
    throw new CommandError(`${text} is not a step: use +90m, +6h, +1d or +2w (minutes, hours, days, weeks).`);
  if (count === undefined) return text;
  const { now } = await ask(options, 'GET');
  return new Date(Date.parse(now) + Number(count) * STEPS[unit!]!).toISOString();
}

async function show(options: AdminOptions, method: 'GET' | 'PUT' | 'DELETE', body?: ClockTime): Promise<void> {
  const time = await ask(options, method, body);
  print(options.json, time, `${time.now}\n`);
}

async function ask(options: AdminOptions, method: 'GET' | 'PUT' | 'DELETE', body?: ClockTime): Promise<ClockTime> {
  try {
    const request = { method, path: PATH, timeoutMs: TIMEOUT_MS, ...(body && { body }) };
    return await askAdmin<ClockTime>(options, request);
  } catch (error) {
    if (error instanceof AdminRefusal && error.status === NOT_FOUND)
      throw new CommandError('This Laurel has no test clock: start it with TEST_CLOCK=1.');
    throw error;
  }
}
