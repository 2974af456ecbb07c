import type { AdminRead } from '../../api/queries.ts';
import { Tag } from '../../ui/parts.tsx';

type Recomputation = AdminRead<'/v1/recomputations'>[number];
type Status = Recomputation['status'];

/** Polling interval of a running recomputation. */
export const UNDER_WAY_MS = 1_000;

/** Names of the parts that can be recomputed. */
export const RECOMPUTED: Readonly<Record<Recomputation['request']['what'][number], string>> = {
  achievements: 'achievements',
  points: 'points',
  boards: 'leaderboards',
};

/** The activity of a running recomputation; `null` if it is not running. */
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
