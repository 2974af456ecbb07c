import {
  Award,
  CircleDot,
  Flame,
  Merge,
  RefreshCw,
  Shield,
  ShieldAlert,
  ShoppingCart,
  Trophy,
  Undo2,
  UserPlus,
  Zap,
  type LucideIcon,
} from 'lucide-react';
import type { TimelineEntry } from '../../api/queries.ts';
import { ago, moment } from '../../ui/format.ts';
import { Tag } from '../../ui/parts.tsx';
import { ReverseEvent } from './reverse-event.tsx';
import { CausedLine, saidOf } from './timeline-words.tsx';

const ICONS: Record<TimelineEntry['kind'], LucideIcon> = {
  event: Zap,
  reversal: Undo2,
  quarantine: ShieldAlert,
  spending: ShoppingCart,
  achievement: Award,
  recomputation: RefreshCw,
  time: CircleDot,
  user_creation: UserPlus,
  streak: Flame,
  leaderboard: Trophy,
  league: Trophy,
  merge: Merge,
  administration: Shield,
};

/** A timeline entry, with its effects below it. */
export function TimelineRow({ entry }: { entry: TimelineEntry }) {
  const Icon = ICONS[entry.kind];
  const caused = 'caused' in entry ? entry.caused : [];
  return (
    <li className="grid grid-cols-[1.25rem_minmax(0,1fr)] gap-x-2 border-b border-line py-2 last:border-b-0">
      <Icon size={15} aria-hidden className="mt-0.5 text-muted" />
      <div className="min-w-0">
        <div className="flex flex-wrap items-baseline justify-between gap-x-3">
          <p className="min-w-0 break-words">
            {saidOf(entry)} {entry.kind === 'event' && entry.late && <Tag tone="warn">late</Tag>}{' '}
            {'reversedBy' in entry && entry.reversedBy !== null && <Tag>reversed</Tag>}
          </p>
          <span className="flex items-center gap-1">
            {(entry.kind === 'event' || entry.kind === 'reversal') && entry.reversedBy === null && (
              <ReverseEvent entry={entry} />
            )}
            <time dateTime={entry.at} title={moment(entry.at)} className="text-xs whitespace-nowrap text-muted">
              {ago(entry.at)}
            </time>
          </span>
        </div>
        {caused.length > 0 && (
          <ul className="mt-1 flex flex-col gap-0.5 border-l-2 border-line pl-3 text-sm">
            {caused.map((each, index) => (
              // oxlint-disable-next-line react/no-array-index-key -- they never change
              <CausedLine key={index} caused={each} />
            ))}
          </ul>
        )}
      </div>
    </li>
  );
}
