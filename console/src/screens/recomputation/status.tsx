import type { AdminRead } from '../../api/queries.ts';
import { Tag } from '../../ui/parts.tsx';

type Recomputation = AdminRead<'/v1/recomputations'>[number];
type Status = Recomputation['status'];

/** One that is under way is read again this often while it is looked at. */
export const UNDER_WAY_MS = 1_000;

/** What can be computed again, as people call it. */
export const RECOMPUTED: Readonly<Record<Recomputation['request']['what'][number], string>> = {
  achievements: 'achievements',
  points: 'points',
  boards: 'leaderboards',
};

/** What a recomputation that is under way does; null: it is at rest. */
const DOING: Readonly<Record<Status, string | null>> = {
  planning: 'Planning',
  applying: 'Applying',
  reverting: 'Reverting',
  planned: null,
  applied: null,
  reverted: null,
  cancelled: null,
  failed: null,
};

export const doing = (status: Status): string | null => DOING[status];
export const isUnderWay = (status: Status): boolean => DOING[status] !== null;

const TONES = { applied: 'good', planned: 'warn', failed: 'bad' } as const;

export const RecomputationStatus = ({ of }: { of: Status }) => (
  <Tag tone={of in TONES ? TONES[of as keyof typeof TONES] : isUnderWay(of) ? 'warn' : 'plain'}>{of}</Tag>
);
