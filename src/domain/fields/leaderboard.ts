import { FOLDS } from '../rule-kinds.ts';
import { Type } from 'typebox';
import { Leagues } from '../leagues.ts';
import { LocalDate, PARTICIPANTS, TimeOfDay, Uuid } from '../schemas.ts';
import { DESCRIPTION, field, KEY, METRIC_ID, NAME, only, TODAY } from './field.ts';

/** Leaderboards of streaks have one run without an end. */
const HAS_RUNS = only('rankBy', 'metric', 'points');

const OF_METRIC = only('rankBy', 'metric');

/** Defaults are stored and shown as no value, as on other servers of the contract, which lack these fields. */
const unlessDefault =
  (byDefault: string) =>
  (value: string): string | null =>
    value === byDefault ? null : value;
const HAS_TEAMS = { ...only('teamAttributeId'), called: 'boards with a teamAttributeId' };

export const LEADERBOARD = {
  name: NAME,
  key: KEY,
  description: DESCRIPTION,
  rankBy: field(Type.Enum(['metric', 'streak', 'points']), {
    label: 'Rank users by',
    description: 'What the board ranks by.',
    required: true,
    form: {
      initial: 'metric',
      options: { metric: 'total of a metric', streak: 'length of the streak', points: 'points' },
    },
  }),
  aggregate: field(Type.Enum(['sum', ...FOLDS]), {
    label: 'A score is',
    description:
      'What a score is of a run’s events: the `sum` of their values (default), the highest (`max`), the lowest (`min`) or the ' +
      '`last` one.',
    default: null,
    addition: true,
    when: OF_METRIC,
    normalise: unlessDefault('sum'),
    form: {
      initial: 'sum',
      options: {
        sum: 'the sum of all values',
        max: 'the highest value',
        min: 'the lowest value',
        last: 'the latest value',
      },
    },
  }),
  order: field(Type.Enum(['descending', 'ascending']), {
    label: 'Ranked first',
    description:
      'Whether the highest score is first (`descending`, the default) or the lowest (`ascending`). Unless the board ranks the ' +
      'highest sum, everybody with an event in the run is on it, also with a score of 0 or below.',
    default: null,
    addition: true,
    when: OF_METRIC,
    normalise: unlessDefault('descending'),
    form: { initial: 'descending', options: { descending: 'the highest score', ascending: 'the lowest score' } },
  }),
  ties: field(Type.Enum(['shared', 'first']), {
    label: 'Equal scores',
    description:
      'Whether users with equal scores share a rank (`shared`, the default), or the one who reached the score earlier ranks ' +
      'higher (`first`). With `first`, everybody with an event in the run is on the board.',
    default: null,
    addition: true,
    when: OF_METRIC,
    normalise: unlessDefault('shared'),
    form: { initial: 'shared', options: { shared: 'share a rank', first: 'rank by who was first' } },
  }),
  secondaryAttributeId: field(Uuid, {
    label: 'Secondary score',
    description:
      'ID of the event attribute whose number decides between equal scores, before the time does; null: none. Only with an ' +
      '`aggregate` of `max`, `min` or `last`, and with `ties` `first`.',
    clearable: true,
    default: null,
    ifUnset: 'omitted',
    addition: true,
    refersTo: 'event attribute',
    when: { ...only('ties', 'first'), called: "boards with ties 'first'" },
    form: { hint: 'Among equal scores, the better number is ahead. Only with the highest, lowest or latest value' },
  }),
  secondaryOrder: field(Type.Enum(['ascending', 'descending']), {
    label: 'Better secondary score',
    description:
      'Which secondary score is better: the lower one (`ascending`, the default) or the higher (`descending`).',
    default: null,
    defaultWhen: 'ascending',
    ifUnset: 'omitted',
    addition: true,
    when: { ...only('secondaryAttributeId'), called: 'boards with a secondaryAttributeId' },
    form: { options: { ascending: 'the lower one', descending: 'the higher one' } },
  }),
  metricId: { ...METRIC_ID, required: true, when: OF_METRIC },
  pointsSystemId: field(Uuid, {
    label: 'Points system',
    description: 'ID of the points system.',
    default: null,
    required: true,
    when: only('rankBy', 'points'),
    refersTo: 'points system',
  }),
  keepsMetadata: field(Type.Boolean(), {
    label: 'Entries keep metadata',
    description:
      'True: an entry keeps the `metadata` of the event that changed it. Everyone who may read the board sees it.',
    default: null,
    addition: true,
    normalise: (keeps: boolean) => (keeps ? true : null),
    form: { hint: 'Such as a character or a replay, sent with events. Everyone who may read the board sees it' },
  }),
  maxParticipants: field(Type.Integer({ minimum: 1, maximum: PARTICIPANTS.most }), {
    label: 'Maximum number of places',
    description: 'How many places the board has; null: any number.',
    clearable: true,
    default: PARTICIPANTS.byDefault,
    form: { hint: 'Empty: every user with a score has a place' },
  }),
  start: field(LocalDate, {
    label: 'First day',
    description:
      'The first local day on which events count. Of a new board without it: the earliest day that it still is anywhere (UTC-12), so that users of every zone count at once.',
    default: TODAY,
    form: {
      hint: 'Local day. Users whose day is still earlier do not count until it begins for them. Each run begins on the same weekday or day of the month',
    },
  }),
  end: field(LocalDate, {
    label: 'Last day',
    description: 'The last day; null: it has none.',
    clearable: true,
    default: null,
    ifUnset: 'omitted',
    form: { hint: 'Empty: no end' },
  }),
  startTime: field(TimeOfDay, {
    label: 'Count events from',
    description: 'Local time of day from which events count; null: all day.',
    example: '08:00',
    clearable: true,
    default: null,
    ifUnset: 'omitted',
    form: { hint: 'Local time of day. Empty: all day' },
  }),
  endTime: field(TimeOfDay, {
    label: 'Count events until',
    description: 'Local time of day from which events no longer count; null: all day.',
    example: '20:00',
    clearable: true,
    default: null,
    ifUnset: 'omitted',
    form: { hint: 'Local time of day. Empty: all day' },
  }),
  runUnit: field(Type.Enum(['day', 'month', 'year']), {
    aliases: { week: { value: 'day', times: 7, of: 'runInterval' } },
    label: 'Start again every',
    description: 'Unit of a run’s length; null: one run for ever.',
    clearable: true,
    default: null,
    ifUnset: 'omitted',
    when: HAS_RUNS,
    form: {
      hint: 'Empty: one run without an end',
      options: { day: 'days', week: 'weeks', month: 'months', year: 'years' },
    },
  }),
  runInterval: field(Type.Integer({ minimum: 1 }), {
    label: 'Number of days, weeks, months or years',
    description: 'Length of a run in `runUnit`s.',
    default: null,
    defaultWhen: 1,
    required: true,
    when: { ...only('runUnit'), called: 'boards with a runUnit' },
  }),
  breakdownAttributes: field(Type.Array(Uuid), {
    label: 'Separate ranking for each',
    description: 'User attributes by whose values the board is divided, a ranking for each combination.',
    default: [],
    refersTo: 'user attribute',
  }),
  teamAttributeId: field(Uuid, {
    label: 'Teams by',
    description:
      'ID of the user attribute that names a user’s team. Teams are then ranked by what their members earn while in them; null: no teams.',
    clearable: true,
    default: null,
    ifUnset: 'omitted',
    addition: true,
    refersTo: 'user attribute',
    when: HAS_RUNS,
    form: { hint: 'Empty: no ranking of teams' },
  }),
  teamsBy: field(Type.Enum(['sum', 'mean']), {
    label: 'Rank teams by',
    description:
      'What teams are ranked by: `sum`: everything that members earned; `mean`: the same per member who earned something.',
    default: null,
    defaultWhen: 'sum',
    ifUnset: 'omitted',
    addition: true,
    when: HAS_TEAMS,
    form: { options: { sum: 'sum of the members', mean: 'mean of the members' } },
  }),
  teamMinMembers: field(Type.Integer({ minimum: 1, maximum: 1_000_000 }), {
    label: 'Smallest team',
    description: 'How many members of a team must have earned something for the team to be ranked.',
    default: null,
    defaultWhen: 1,
    ifUnset: 'omitted',
    addition: true,
    when: HAS_TEAMS,
  }),
  leagues: field(Leagues, {
    label: 'Leagues',
    description:
      'Tiers, lowest first, and cohorts: users of a tier are ranked in cohorts of at most `cohortUsers` (10 to 200). At the end ' +
      'of a run, the best `promoted` of a cohort move up, the last `demoted` move down, and users without a score `stay` (the ' +
      'default) or `fall`. A request replaces all of it; null: no leagues.',
    example: {
      tiers: [{ name: 'Bronze' }, { name: 'Silver' }, { name: 'Gold' }],
      cohortUsers: 30,
      promoted: 7,
      demoted: 5,
      inactive: 'fall',
    },
    clearable: true,
    default: null,
    ifUnset: 'omitted',
    addition: true,
    when: { ...only('runUnit'), called: 'boards with a runUnit' },
    form: {
      hint: 'Users are ranked in small groups of the same tier. After each run, the best move up a tier, and the last move down',
    },
  }),
  status: field(Type.Enum(['inactive', 'active', 'scheduled', 'finished']), {
    label: 'Status',
    description: 'An inactive board has no ranking. The clock moves the others from scheduled to active to finished.',
    default: 'inactive',
    form: { initial: 'active' },
  }),
} as const;
