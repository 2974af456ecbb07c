import type { RecomputationDetails, RecomputedUser } from '../../domain/recomputation.ts';
import { tableText } from '../table.ts';

const HEAD = ['WHAT', 'GAINING', 'LOSING', 'GIVEN', 'TAKEN'];
const USERS = ['USER', 'GETS', 'LOSES', 'POINTS', 'BOARDS', 'STATUS', 'REASON'];

/** A recomputation for a terminal: what it comes to, and some of its users. */
export function planText({ id, status, figures, outcome, samples }: RecomputationDetails): string {
  const { users, gaining, losing, unchanged, failed } = figures;
  const { applied, reverted, skipped } = outcome;
  const rows = [
    ...figures.achievements.map(({ key, name, gaining: gains, losing: loses }) => [
      key ?? name,
      gains,
      loses,
      null,
      null,
    ]),
    ...figures.points.map(({ key, gaining: gains, losing: loses, given, taken }) => [key, gains, loses, given, taken]),
    ...figures.boards.map(({ key, gaining: gains, losing: loses }) => [`${key} (board)`, gains, loses, null, null]),
  ];
  const some: RecomputedUser[] = [];
  for (const user of [...samples.gaining, ...samples.losing, ...samples.left])
    if (!some.some(({ userId }) => userId === user.userId)) some.push(user);
  return [
    `${id}  ${status}\n`,
    `${usersText(users)}: ${gaining} ${gaining === 1 ? 'gains' : 'gain'}, ${losing} ${losing === 1 ? 'loses' : 'lose'}, ` +
      `${unchanged} ${unchanged === 1 ? 'stays as it is' : 'stay as they are'}, ${failed} could not be planned.\n`,
    applied + reverted + skipped === 0 ? '' : `Applied: ${applied}, reverted: ${reverted}, left out: ${skipped}.\n`,
    rows.length === 0 ? '' : `\n${tableText(HEAD, rows)}`,
    some.length === 0 ? '' : `\n${tableText(USERS, some.map(userRow))}`,
  ].join('');
}

/** A number of users in words. */
const usersText = (users: number): string => `${users} ${users === 1 ? 'user' : 'users'}`;

const scoreText = ({ key, run, from, to, moves }: RecomputedUser['boards'][number]): string =>
  `${key} (${run}) ${from} → ${to}${moves ? ' in another group' : ''}`;

const userRow = ({ userId, gained, lost, points, boards, status, reason }: RecomputedUser): (string | null)[] => [
  userId,
  gained.join(' '),
  lost.join(' '),
  points.map(({ key, from, to }) => `${key} ${from} → ${to}`).join(' '),
  boards.map(scoreText).join(' '),
  status,
  reason,
];
