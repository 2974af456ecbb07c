import { Link } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import type { TimelineEntry } from '../../api/queries.ts';
import { ruleText, type Rule } from '../../rule-text.ts';
import { calendarDays, moment, number, periods } from '../../ui/format.ts';
import { Code, Tag } from '../../ui/parts.tsx';

type Caused = Extract<TimelineEntry, { kind: 'event' }>['caused'][number];
type Named = Extract<Caused, { kind: 'achievement' }>['achievement'];

const signed = (value: number): string => `${value > 0 ? '+' : ''}${number(value)}`;

/** An entry as a sentence. */
export function saidOf(entry: TimelineEntry): ReactNode {
  switch (entry.kind) {
    case 'event':
      return (
        <>
          <strong>
            {entry.metric.name} {signed(entry.value)}
          </strong>{' '}
          <span className="text-muted">
            total {number(entry.total)}
            {entry.occurredAt !== null && `, happened ${moment(entry.occurredAt)}`}
          </span>
        </>
      );
    case 'reversal':
      return (
        <>
          <strong>
            Reversed: {entry.metric.name} {signed(entry.value)}
          </strong>{' '}
          <span className="text-muted">
            total {number(entry.total)}
            {entry.achievements.length > 0 && `; achievements ${entry.achievements.map(({ name }) => name).join(', ')}`}
          </span>{' '}
          {entry.who !== null && <Code>{entry.who}</Code>}
        </>
      );
    case 'quarantine':
      return (
        <>
          <strong>
            Held in quarantine: {entry.metric.name} {signed(entry.value)}
          </strong>{' '}
          <span className="text-muted">
            {entry.status}, guard {entry.guard}
          </span>
        </>
      );
    case 'spending':
      return (
        <>
          <strong>
            {SPENDING[entry.type]} {number(entry.amount)}
          </strong>{' '}
          <SystemName of={entry.pointsSystem} />{' '}
          <span className="text-muted">
            balance {number(entry.balance)}
            {entry.reason !== null && `; ${entry.reason}`}
            {entry.reference !== null && `; ${entry.reference}`}
          </span>
        </>
      );
    case 'achievement':
      return (
        <>
          Completed <AchievementName of={entry.achievement} />{' '}
          <span className="text-muted">
            {entry.by === null || entry.rule?.type === 'api' ? '' : COMPLETED_BY[entry.by]} <Why rule={entry.rule} />
          </span>
        </>
      );
    case 'recomputation':
      return (
        <>
          <strong>Recomputation {entry.action}</strong>{' '}
          <span className="text-muted">
            {entry.gained.length > 0 && `gained ${entry.gained.map(({ name }) => name).join(', ')} `}
            {entry.lost.length > 0 && `lost ${entry.lost.map(({ name }) => name).join(', ')}`}
          </span>{' '}
          <Code>{entry.who}</Code>
        </>
      );
    case 'time':
      return 'Points for elapsed time';
    case 'user_creation':
      return 'First seen';
    case 'streak':
      return (
        <>
          {STREAK[entry.change]} <span className="text-muted">{`${entry.frequency}, ${daysOf(entry)}`}</span>{' '}
          {entry.who !== null && <Code>{entry.who}</Code>} {entry.supersededBy !== null && <Tag>corrected later</Tag>}
        </>
      );
    case 'leaderboard':
      return (
        <>
          {entry.rank === null ? 'Not on ' : `#${number(entry.rank)} on `}
          <BoardName of={entry.leaderboard} /> at the end of {daysOf(entry)}{' '}
          <span className="text-muted">{number(entry.value)}</span>
        </>
      );
    case 'league':
      return (
        <>
          {entry.tier.number > entry.previousTier.number ? 'Up to ' : 'Down to '}
          {entry.tier.name ?? `tier ${number(entry.tier.number)}`} on <BoardName of={entry.leaderboard} />{' '}
          <span className="text-muted">
            run of {calendarDays(entry.start)},{' '}
            {entry.rank === null ? 'no score' : `#${number(entry.rank)} of the cohort`}
          </span>
        </>
      );
    case 'merge':
      return (
        <>
          <strong>{entry.from}</strong> was merged into <strong>{entry.into}</strong>{' '}
          <span className="text-muted">with everything of both</span> {entry.who !== null && <Code>{entry.who}</Code>}
        </>
      );
    case 'administration':
      return (
        <>
          {entry.action} {entry.subject.replaceAll('_', ' ')} <Code>{entry.who}</Code>
        </>
      );
  }
}

const SPENDING = {
  spend: 'Spent',
  hold: 'Held',
  capture: 'Captured',
  release: 'Released',
  refund: 'Refunded',
  expire: 'Expired',
} as const;

const COMPLETED_BY = { call: 'by a call', clock: 'by the clock', backdating: 'by earlier events' } as const;

const STREAK = {
  freeze: 'A freeze kept the streak',
  pause: 'A pause kept the streak',
  dayOff: 'A day off kept the streak',
  lost: 'The streak was lost',
  restored: 'The streak was restored',
  replaced: 'The streak was replaced by the restored one',
  reset: 'The streak was reset',
} as const;

const daysOf = ({ start, end }: { start: string; end: string }): string => calendarDays(start, end);

/** An effect and its rule. */
export function CausedLine({ caused }: { caused: Caused }) {
  switch (caused.kind) {
    case 'streak':
      return (
        <li>
          Streak of <strong>{periods(caused.length, caused.frequency)}</strong>
        </li>
      );
    case 'achievement':
      return (
        <li>
          Completed <AchievementName of={caused.achievement} />{' '}
          <span className="text-muted">
            <Why rule={caused.rule} />
          </span>
        </li>
      );
    case 'award':
      return (
        <li>
          <strong>{signed(caused.awarded)}</strong> <SystemName of={caused.pointsSystem} />{' '}
          <span className="text-muted">
            <Why rule={caused.rule} />; total {number(caused.total)}
          </span>{' '}
          {caused.boosts.map((boost) => (
            <Tag key={boost.id ?? boost.name}>
              {boost.name}
              {boost.multiplier === null ? '' : ` ×${boost.multiplier}`}
            </Tag>
          ))}
        </li>
      );
    case 'level':
      return (
        <li>
          {caused.level === null ? 'Below the first level' : <Tag tone="good">{caused.level.name}</Tag>}{' '}
          <span className="text-muted">
            level of {caused.pointsSystem.name}
            {caused.previousLevel !== null && `, before ${caused.previousLevel.name}`}
          </span>
        </li>
      );
    case 'leaderboard':
      return (
        <li className="text-muted">
          {caused.aggregate === undefined ? signed(caused.change) : `${number(caused.change)} counts`} on{' '}
          <BoardName of={caused.leaderboard} />, run of {calendarDays(caused.run)}
        </li>
      );
  }
}

const link = 'text-accent underline';

const AchievementName = ({ of }: { of: Named }) => (
  <Link to="/achievements" className={link}>
    {of.name}
  </Link>
);

const SystemName = ({ of }: { of: Named }) =>
  of.id === null ? (
    <>{of.name}</>
  ) : (
    <Link to="/points/$id" params={{ id: of.id }} className={link}>
      {of.name}
    </Link>
  );

const BoardName = ({ of }: { of: Named }) =>
  of.key === null ? (
    <>{of.name}</>
  ) : (
    <Link to="/leaderboards/$key" params={{ key: of.key }} className={link}>
      {of.name}
    </Link>
  );

/** The rule at that time, in words. */
const Why = ({ rule }: { rule: Rule | null }) =>
  rule === null ? 'by a rule that is not known any longer' : ruleText(rule);
