import { tableText } from '../command.ts';
import { sustained } from './ramp.ts';
import type { LoadResult } from './result.ts';
import { verificationText } from './verify.ts';

const whole = (value: number): string => Math.round(value).toLocaleString('en');
const ms = (value: number): string => `${value < 10 ? value.toFixed(1) : value.toFixed(0)} ms`;

/** Sentences about a result that matter most, for the end of a run and the top of the report. */
export function findings(result: LoadResult): { text: string; isBad: boolean }[] {
  const { summary, generator, verification, ramp, streams } = result;
  const { answered, unsent, errors, perSecond, p50, p99, seconds } = summary;
  const best = ramp === null ? null : sustained(ramp);
  const failed = Math.round(errors * (answered + unsent));
  return [
    ...(result.interrupted
      ? [{ text: 'The run was interrupted; these are the figures until then.', isBad: true }]
      : []),
    ...(ramp === null
      ? []
      : [
          best === null
            ? { text: 'No rate was sustained.', isBad: true }
            : { text: `Highest sustained rate: ${whole(best.rate)} requests per second.`, isBad: false },
        ]),
    {
      text: `${whole(answered)} requests were answered in ${seconds.toFixed(1)} s, ${whole(perSecond)} per second: p50 ${ms(p50)}, p99 ${ms(p99)}.`,
      isBad: false,
    },
    failed === 0
      ? { text: 'All were answered as they should.', isBad: false }
      : {
          text: `${whole(failed)} failed (${(errors * 100).toFixed(2)} %)${unsent > 0 ? `; ${whole(unsent)} of them were due but never sent` : ''}.`,
          isBad: true,
        },
    ...(verification === null ? [] : [{ text: verificationText(verification), isBad: verification.differing > 0 }]),
    ...generator.notes.map((text) => ({ text, isBad: true })),
    ...(streams === null
      ? []
      : [
          {
            text: `${whole(streams.opened)} live streams received ${whole(streams.messages)} messages; ${whole(streams.failed)} failed.`,
            isBad: streams.failed > 0,
          },
        ]),
  ];
}

/** A result for a terminal. */
export function resultText(result: LoadResult): string {
  const { summary, ramp, verification, run, cleaned } = result;
  const { p50, p90, p99, p999, max, statuses } = summary;
  const table = tableText(
    ['ANSWER', 'NUMBER'],
    Object.entries(statuses).map(([name, count]) => [name, whole(count)]),
  );
  const steps =
    ramp === null
      ? ''
      : `\n${tableText(
          ['RATE', 'ANSWERED/S', 'P50 MS', 'P99 MS', 'VERDICT'],
          ramp.map((step) => [
            step.rate.toFixed(0),
            step.perSecond.toFixed(0),
            step.p50.toFixed(1),
            step.p99.toFixed(1),
            step.limitedByGenerator ? 'the generator is the limit' : (step.exceeded ?? 'sustained'),
          ]),
        )}`;
  const percentiles = Object.entries({ p50, p90, p99, 'p99.9': p999, max }).map(
    ([name, value]) => `${name} ${ms(value)}`,
  );
  const differences = (verification?.differences ?? []).map((line) => `  ${line}\n`).join('');
  const users =
    cleaned === null ? `Its users remain: laurel load --clean-run ${run}` : `${whole(cleaned)} users were deleted.`;
  return `\n${findings(result)
    .map(({ text, isBad }) => `${isBad ? '!' : ' '} ${text}\n`)
    .join('')}${differences}\n${percentiles.join('   ')}\n\n${table}${steps}\nRun ${run}. ${users}\n`;
}
