// Made by generate.mjs; do not edit.
// 7ddfa00452b2a13528a68532fdbcd44426b45f238632ab143e3c9b420ca5f516
// 448d402ebf12660642837180915cdb7598c02b0fec037f9957b0d0c3e220a523

export interface EventRequest {
  /** The user. Fields that are sent replace the stored ones, the others stay. */
  user: UserRequest;
  /** Amount to add to the user’s total; may be negative. */
  value: number;
  /** Values by the keys of attributes. */
  attributes?: {
    [key: string]: string;
  };
  /** When it happened, as ISO 8601 with an offset; left out: now. */
  occurredAt?: string;
  /** At most 256 bytes of JSON, shown with the user’s entry on leaderboards with `keepsMetadata` whose score the event changes. Everyone who may read such a leaderboard sees it. */
  metadata?: {
    [key: string]: unknown;
  };
}

export interface EventResult {
  /** ID of the event. */
  eventId: string;
  /** ID of the metric. */
  metricId: string;
  /** The user’s total of the metric after the event. */
  total: number;
  /** The achievements that the event completed. */
  achievements: CompletedAchievement[];
  /** The repeating achievements in whose periods the event counts; missing if there are none. */
  achievementProgress?: QuestProgress[];
  /** The user’s streak after this event. */
  currentStreak: EventStreak;
  /** The points systems in which this event changed something, by key. */
  points: {
    [key: string]: EventPoints;
  };
  /** The leaderboards on which the score changed, by key. */
  leaderboards: {
    [key: string]: EventLeaderboard;
  };
  /** The event’s idempotency key. */
  idempotencyKey?: string;
  /** True: the key was used before, and nothing was changed. */
  idempotentReplayed?: boolean;
  /** True: the first event with this key had another value, other attributes or another `occurredAt`. Known for at least 7 days after that event; otherwise the field is missing. */
  idempotencyConflict?: boolean;
  /** What a guard of the metric did to the event; missing if no guard did anything. */
  guarded?: GuardedEvent;
}

export interface CompletedAchievement {
  /** ID of the achievement. */
  id: string;
  /** Name of the achievement. */
  name: string;
  /** What completes the achievement. */
  trigger: "metric" | "streak" | "api" | "achievement" | "anniversary";
  /** Description of the achievement for users; null: none. */
  description: string | null;
  /** Address of the badge’s picture; null: it has none. */
  badgeUrl: string | null;
  /** Key of the achievement. */
  key?: string;
  /** Length of the streak that is needed. */
  streakLength?: number;
  /** Years of an anniversary achievement; Laurel has none. */
  anniversaryYears?: number;
  /** IDs of the achievements that must all be completed. */
  achievementIds?: string[];
  /** ID of the metric. */
  metricId?: string;
  /** The total that completes the achievement. */
  metricValue?: number;
  /** Name of the metric. */
  metricName?: string;
  /** Conditions on the user: all of these attributes must have these values. */
  userAttributes: AttributeValue[];
  /** The first condition on the event; null: there is none. */
  eventAttribute?: AttributeValue;
  /** Conditions on the event: all of these attributes must have these values. */
  eventAttributes?: AttributeValue[];
  /** How often users can complete the achievement; missing: once. */
  repeat?: ("daily" | "weekly" | "monthly") | {
    /** The days, oldest first. */
    days: number;
  };
  /** First local day on which events count for the achievement; missing: since ever. */
  startDate?: string;
  /** Last local day on which events count for the achievement; missing: for ever. */
  endDate?: string;
  /** IDs of the achievements that the user must complete before; without secret ones. Missing if there are none. */
  requires?: string[];
  /** Signs the webhook’s messages; shown only once. */
  secret?: true;
  /** The leaderboard whose final ranks are rewarded: once per user and run, when the run is final. */
  leaderboardId?: string;
  /** The best rank that is rewarded; without it, 1. */
  rankFrom?: number;
  /** The last rank that is rewarded. Either `rankTo` or `rankPercent` is required. */
  rankTo?: number;
  /** The share of the users on the leaderboard that is rewarded, in percent, rounded up to whole users. */
  rankPercent?: number;
  /** When the user completed it; null: not yet. */
  achievedAt: string | null;
  /** How often the user has completed the repeating achievement. */
  timesCompleted?: number;
  /** A period of a repeating achievement: the current one or, of an event, the one in which it counts. */
  period?: QuestPeriod;
}

export interface AttributeValue {
  /** Key of the attribute. */
  key: string;
  /** Value of the attribute. */
  value: string;
}

export interface QuestProgress {
  /** ID of the achievement. */
  id: string;
  /** Key of the achievement. */
  key?: string;
  /** Name of the achievement. */
  name: string;
  /** The total that completes the achievement. */
  metricValue: number;
  /** How often users can complete the achievement; missing: once. */
  repeat?: ("daily" | "weekly" | "monthly") | {
    /** The days, oldest first. */
    days: number;
  };
  /** How often the user has completed the repeating achievement. */
  timesCompleted?: number;
  /** A period of a repeating achievement: the current one or, of an event, the one in which it counts. */
  period: QuestPeriod;
}

/** A period of a repeating achievement: the current one or, of an event, the one in which it counts. */
export interface QuestPeriod {
  /** First local day of the period; null: since ever. */
  start: string | null;
  /** Last local day of the period; null: for ever. */
  end: string | null;
  /** Sum of the events that count in the period. */
  progress: number;
  /** Whether the user has completed the achievement in the period. */
  completed: boolean;
}

/** The user’s streak after this event. */
export interface EventStreak {
  /** Periods in a row that were met. */
  length: number;
  /** Length of a streak period. */
  frequency: "daily" | "weekly" | "monthly";
  /** First local day of the streak’s first period; null: there is no streak. */
  started: string | null;
  /** First local day of the streak period. */
  periodStart: string | null;
  /** Last local day of the streak period. */
  periodEnd: string | null;
  /** The last local day on which the streak can be extended; null: there is no streak to lose. */
  expires: string | null;
  /** Freezes: each excuses a missed period. */
  freezes?: number;
  /** Maximum number of freezes of a user. */
  maxFreezes?: number;
  /** Periods in a row after which freezes are earned; null: never. */
  freezeAutoEarnInterval?: number;
  /** Number of freezes earned at a time; null: none. */
  freezeAutoEarnAmount?: number;
  /** Whether this event extended the streak. */
  extended: boolean;
}

export interface EventPoints {
  /** Key of the points system. */
  key: string;
  /** ID of the points system. */
  id: string;
  /** Name of the points system. */
  name: string;
  /** Description of the points system for users; null: none. */
  description: string | null;
  /** Address of the badge’s picture; null: it has none. */
  badgeUrl: string | null;
  /** Maximum points of a user; null: unlimited. */
  maxPoints: number | null;
  /** The user’s points afterwards. */
  total: number;
  /** The level that the points reach; null: none. */
  level?: PointsLevel | null;
  /** Points that this event or completion added; negative if it took points. */
  added: number;
  /** Number of awards. */
  awards: PointsAward[];
}

export interface PointsAward {
  /** ID of the award. */
  id?: string;
  /** Points given. */
  awarded?: number;
  /** When the points were awarded. */
  date?: string;
  /** The user’s points after the award. */
  total?: number;
  /** The trigger that gave the points. */
  trigger?: PointsTrigger;
  /** The boosts that multiplied the points. */
  boosts?: PointsBoost[];
}

/** The trigger that gave the points. */
export interface PointsTrigger {
  /** ID of the trigger. */
  id: string;
  /** What gives the points. */
  type: "metric" | "achievement" | "streak" | "time" | "user_creation";
  /** Points that the trigger awards; negative points are taken. */
  points: number;
  /** Status of the trigger. */
  status: "active" | "inactive" | "archived";
  /** ID of the achievement. */
  achievementId?: string;
  /** ID of the metric. */
  metricId?: string;
  /** Name of the metric. */
  metricName?: string;
  /** Points are awarded for each multiple of this value that the total newly reaches. */
  metricThreshold?: number;
  /** Points are awarded for each multiple of this streak length. */
  streakLengthThreshold?: number;
  /** Name of the achievement. */
  achievementName?: string;
  /** Unit of the time between two awards. */
  timeUnit?: "hour" | "day";
  /** Number of `timeUnit`s between two awards. */
  timeInterval?: number;
  /** Conditions on the user: all of these attributes must have these values. */
  userAttributes: AttributeValue[];
  /** The first condition on the event; null: there is none. */
  eventAttribute?: AttributeValue;
  /** Conditions on the event: all of these attributes must have these values. */
  eventAttributes?: AttributeValue[];
  /** The points system whose levels count, instead of an achievement; it may be the one of the trigger. */
  pointsSystemId?: string;
  /** Key of the only level that counts; without it, every level counts. */
  levelKey?: string;
  /** The leaderboard whose final ranks are rewarded: once per user and run, when the run is final. */
  leaderboardId?: string;
  /** The best rank that is rewarded; without it, 1. */
  rankFrom?: number;
  /** The last rank that is rewarded. Either `rankTo` or `rankPercent` is required. */
  rankTo?: number;
  /** The share of the users on the leaderboard that is rewarded, in percent, rounded up to whole users. */
  rankPercent?: number;
  /** When the trigger was created. */
  created: string;
  /** When the trigger was last changed. */
  updated: string;
}

export interface EventLeaderboard {
  /** ID of the leaderboard. */
  id: string;
  /** Name of the leaderboard. */
  name: string;
  /** Key of the leaderboard. */
  key: string;
  /** What the board ranks by. */
  rankBy: "points" | "streak" | "metric";
  /** What a score is of the events of a run: the highest (max), lowest (min) or last value; absent: the sum. */
  aggregate?: "max" | "min" | "last";
  /** `ascending`: the lowest score is first; absent: the highest. */
  order?: "ascending";
  /** `first`: of equal scores, the one reached earlier ranks higher; absent: they share a rank. */
  ties?: "first";
  /** Key of the event attribute with the secondary score, which decides between equal scores; absent: none. */
  secondaryAttributeKey?: string;
  /** Which secondary score is better: the lower one (`ascending`) or the higher one (`descending`). */
  secondaryOrder?: "ascending" | "descending";
  /** Key of the breakdown attribute of a board that has exactly one; null otherwise. */
  breakdownAttribute: string | null;
  /** User attributes that divide the leaderboard: one ranking for each combination of their values. */
  breakdownAttributes: string[];
  /** Key of the metric. */
  metricKey?: string;
  /** Name of the metric. */
  metricName?: string;
  /** Key of the points system. */
  pointsSystemKey?: string;
  /** Name of the points system. */
  pointsSystemName?: string;
  /** Description of the leaderboard for users; null: none. */
  description: string | null;
  /** First day of the run. */
  start: string;
  /** Last day of the leaderboard; null: it has none. */
  end: string | null;
  /** Local time of day from which events count; null: all day. */
  startTime: string | null;
  /** Local time of day at which events stop counting; null: all day. */
  endTime: string | null;
  /** Maximum number of places; null: unlimited. */
  maxParticipants: number | null;
  /** Unit of a run’s length; null: one run for ever. */
  runUnit: ("day" | "month" | "year") | null;
  /** Length of a run in `runUnit`s; null: one run for ever. */
  runInterval: number | null;
  /** Status of the leaderboard, by its days. */
  status: "active" | "scheduled" | "finished";
  /** Place on the board, 1 being the first; null: not on it. Equal scores share a rank, unless the leaderboard has `ties`. */
  rank: number | null;
  /** The rank before; null: not on the board. */
  previousRank: number | null;
  /** Minimum sum of the metric in a period. */
  threshold: number;
  /** Whether the queue is full, so that further messages are logged as failed. */
  full?: boolean;
  /** The user’s value of it; null otherwise. */
  breakdownAttributeValue?: string;
  /** The user’s values of the board’s breakdown attributes. */
  breakdownAttributeValues?: AttributeValue[];
}

/** What a guard of the metric did to the event; missing if no guard did anything. */
export interface GuardedEvent {
  /** The guard of the metric. */
  guard: "minValue" | "maxValue" | "minSecondsBetween" | "maxSumPerHour" | "maxSumPerDay" | "maxTotal";
  /** Whether the value was cut (`clamp`), or the event is kept and not applied (`quarantine`). */
  action: "clamp" | "quarantine";
  /** The applied value of a clamped event. */
  value?: number;
}

export interface Achievement {
  /** ID of the achievement. */
  id: string;
  /** Name of the achievement. */
  name: string;
  /** What completes the achievement. */
  trigger: "metric" | "streak" | "api" | "achievement" | "anniversary";
  /** Description of the achievement for users; null: none. */
  description: string | null;
  /** Address of the badge’s picture; null: it has none. */
  badgeUrl: string | null;
  /** Key of the achievement. */
  key?: string;
  /** Length of the streak that is needed. */
  streakLength?: number;
  /** Years of an anniversary achievement; Laurel has none. */
  anniversaryYears?: number;
  /** IDs of the achievements that must all be completed. */
  achievementIds?: string[];
  /** ID of the metric. */
  metricId?: string;
  /** The total that completes the achievement. */
  metricValue?: number;
  /** Name of the metric. */
  metricName?: string;
  /** Conditions on the user: all of these attributes must have these values. */
  userAttributes: AttributeValue[];
  /** The first condition on the event; null: there is none. */
  eventAttribute?: AttributeValue;
  /** Conditions on the event: all of these attributes must have these values. */
  eventAttributes?: AttributeValue[];
  /** How often users can complete the achievement; missing: once. */
  repeat?: ("daily" | "weekly" | "monthly") | {
    /** The days, oldest first. */
    days: number;
  };
  /** First local day on which events count for the achievement; missing: since ever. */
  startDate?: string;
  /** Last local day on which events count for the achievement; missing: for ever. */
  endDate?: string;
  /** IDs of the achievements that the user must complete before; without secret ones. Missing if there are none. */
  requires?: string[];
  /** Signs the webhook’s messages; shown only once. */
  secret?: true;
  /** The leaderboard whose final ranks are rewarded: once per user and run, when the run is final. */
  leaderboardId?: string;
  /** The best rank that is rewarded; without it, 1. */
  rankFrom?: number;
  /** The last rank that is rewarded. Either `rankTo` or `rankPercent` is required. */
  rankTo?: number;
  /** The share of the users on the leaderboard that is rewarded, in percent, rounded up to whole users. */
  rankPercent?: number;
  /** How many users have completed it. */
  completions: number;
  /** Share of the users, in percent, who have completed it. */
  rarity: number;
}

export interface AchievementCompletionRequest {
  /** The user. Fields that are sent replace the stored ones, the others stay. */
  user: UserRequest;
}

export interface AchievementCompletion {
  /** ID of the completion; always the same for this user and achievement. */
  completionId: string;
  /** The achievement that was completed. */
  achievement: CompletedAchievement;
  /** The points systems in which the completion changed something, by key. */
  points: {
    [key: string]: EventPoints;
  };
}

export interface UserRequest {
  /** Your own ID of the user. */
  id: string;
  /** E-mail address; an empty one clears it. */
  email?: string;
  /** Name of the user. */
  name?: string;
  /** IANA time zone, which determines the user’s local day; UTC without one. An empty text clears it. */
  tz?: string | null;
  /** The day on which the user signed up; a date-time is cut to its UTC day. Null: not known. */
  signUpDate?: string | null;
  /** Tokens of the user’s devices; `[]` clears them, null means “not sent”. */
  deviceTokens?: string[] | null;
  /** Whether the user wants e-mails; false drops the stored address. */
  subscribeToEmails?: boolean;
  /** Values by the keys of attributes. */
  attributes?: {
    [key: string]: string;
  };
}

export interface UserChanges {
  /** E-mail address; an empty one clears it. */
  email?: string;
  /** Name of the user. */
  name?: string;
  /** IANA time zone, which determines the user’s local day; UTC without one. An empty text clears it. */
  tz?: string | null;
  /** The day on which the user signed up; a date-time is cut to its UTC day. Null: not known. */
  signUpDate?: string | null;
  /** Tokens of the user’s devices; `[]` clears them, null means “not sent”. */
  deviceTokens?: string[] | null;
  /** Whether the user wants e-mails; false drops the stored address. */
  subscribeToEmails?: boolean;
  /** Values by the keys of attributes. */
  attributes?: {
    [key: string]: string;
  };
}

export interface User {
  /** ID of the user. */
  id: string;
  /** E-mail address; an empty one clears it. */
  email: string | null;
  /** Name of the user. */
  name: string | null;
  /** IANA time zone, which determines the user’s local day; UTC without one. An empty text clears it. */
  tz: string | null;
  /** The day on which the user signed up; a date-time is cut to its UTC day. Null: not known. */
  signUpDate: string | null;
  /** Tokens of the user’s devices; `[]` clears them, null means “not sent”. */
  deviceTokens?: string[] | null;
  /** Whether the user wants e-mails; false drops the stored address. */
  subscribeToEmails: boolean;
  /** Values by the keys of attributes. */
  attributes: {
    [key: string]: string;
  };
  /** The control group. */
  control: boolean;
  /** When the user was created. */
  created: string;
  /** When the user was last changed. */
  updated: string;
}

export interface ChangedUser {
  /** ID of the user. */
  id: string;
  /** E-mail address; an empty one clears it. */
  email: string | null;
  /** Name of the user. */
  name: string | null;
  /** IANA time zone, which determines the user’s local day; UTC without one. An empty text clears it. */
  tz: string | null;
  /** The day on which the user signed up; a date-time is cut to its UTC day. Null: not known. */
  signUpDate: string | null;
  /** Tokens of the user’s devices; `[]` clears them, null means “not sent”. */
  deviceTokens?: string[] | null;
  /** Whether the user wants e-mails; false drops the stored address. */
  subscribeToEmails: boolean;
  /** Values by the keys of attributes. */
  attributes: {
    [key: string]: string;
  };
  /** The control group. */
  control: boolean;
  /** When the user was created. */
  created: string;
  /** When the user was last changed. */
  updated: string;
  /** Keys of leaderboards on which the score is still in the previous group; the next event moves it. */
  pendingLeaderboards?: string[];
}

export interface Preferences {
  /** Channels by kind of notification. */
  notifications: NotificationPreferences;
  /** The user’s own rules of the streak. */
  streak?: StreakPreferences;
  /** Whether the user hides from leaderboards; missing if not. */
  leaderboards?: LeaderboardPreferences;
}

export interface PreferencesChanges {
  /** Channels by kind of notification. */
  notifications?: NotificationPreferences;
  /** The user’s own rules of the streak. */
  streak?: StreakPreferences;
  /** Whether the user hides from leaderboards; missing if not. */
  leaderboards?: LeaderboardPreferences;
}

/** Channels by kind of notification. */
export interface NotificationPreferences {
  /** Channels for completed achievements. */
  achievement_completed?: ("email" | "push")[];
  /** Channels for recaps. */
  recap?: ("email" | "push")[];
  /** Channels for reactivation. */
  reactivation?: ("email" | "push")[];
  /** Channels for streak reminders. */
  streak_reminder?: ("email" | "push")[];
}

/** The user’s own rules of the streak. */
export interface StreakPreferences {
  /**
   * Whether it is switched on.
   * @default true
   */
  enabled?: boolean;
  /** Whether one threshold suffices (OR) or all are needed (AND). */
  evaluationMode?: "OR" | "AND";
  /** The metrics that count for the streak, each with its threshold. */
  metrics?: {
    /** Key of the metric. */
    key: string;
    /** Minimum sum of the metric in a period. */
    threshold: number;
  }[];
  /** Weekdays that need no event, Sunday being 0. */
  daysOff?: number[];
}

/** Whether the user hides from leaderboards; missing if not. */
export interface LeaderboardPreferences {
  /** Whether leaderboards leave the user out; scores are kept. */
  hidden: boolean;
}

export interface UserAchievement {
  /** ID of the achievement. */
  id: string;
  /** Name of the achievement. */
  name: string;
  /** What completes the achievement. */
  trigger: "metric" | "streak" | "api" | "achievement" | "anniversary";
  /** Description of the achievement for users; null: none. */
  description: string | null;
  /** Address of the badge’s picture; null: it has none. */
  badgeUrl: string | null;
  /** Key of the achievement. */
  key?: string;
  /** Length of the streak that is needed. */
  streakLength?: number;
  /** Years of an anniversary achievement; Laurel has none. */
  anniversaryYears?: number;
  /** IDs of the achievements that must all be completed. */
  achievementIds?: string[];
  /** ID of the metric. */
  metricId?: string;
  /** The total that completes the achievement. */
  metricValue?: number;
  /** Name of the metric. */
  metricName?: string;
  /** Conditions on the user: all of these attributes must have these values. */
  userAttributes: AttributeValue[];
  /** The first condition on the event; null: there is none. */
  eventAttribute?: AttributeValue;
  /** Conditions on the event: all of these attributes must have these values. */
  eventAttributes?: AttributeValue[];
  /** How often users can complete the achievement; missing: once. */
  repeat?: ("daily" | "weekly" | "monthly") | {
    /** The days, oldest first. */
    days: number;
  };
  /** First local day on which events count for the achievement; missing: since ever. */
  startDate?: string;
  /** Last local day on which events count for the achievement; missing: for ever. */
  endDate?: string;
  /** IDs of the achievements that the user must complete before; without secret ones. Missing if there are none. */
  requires?: string[];
  /** Signs the webhook’s messages; shown only once. */
  secret?: true;
  /** The leaderboard whose final ranks are rewarded: once per user and run, when the run is final. */
  leaderboardId?: string;
  /** The best rank that is rewarded; without it, 1. */
  rankFrom?: number;
  /** The last rank that is rewarded. Either `rankTo` or `rankPercent` is required. */
  rankTo?: number;
  /** The share of the users on the leaderboard that is rewarded, in percent, rounded up to whole users. */
  rankPercent?: number;
  /** How many users have completed it. */
  completions: number;
  /** Share of the users, in percent, who have completed it. */
  rarity: number;
  /** When the user completed it; null: not yet. */
  achievedAt: string | null;
  /** How often the user has completed the repeating achievement. */
  timesCompleted?: number;
  /** A period of a repeating achievement: the current one or, of an event, the one in which it counts. */
  period?: QuestPeriod;
}

export interface UserMetric {
  /** ID of the metric. */
  id: string;
  /** Key of the metric. */
  key: string;
  /** Name of the metric. */
  name: string;
  /** Status of the metric. */
  status: "active";
  /** The total now. */
  current: number;
  /** The achievements of the metric, with the time at which the user completed each. */
  achievements: CompletedAchievement[];
}

export interface SummaryEntry {
  /** First local day of the period. */
  date: string;
  /** The user’s total, or points, at the end of the period. */
  total: number;
  /** By how much the total changed in the period. */
  change: number;
}

export interface UserPoints {
  /** Key of the points system. */
  key: string;
  /** ID of the points system. */
  id: string;
  /** Name of the points system. */
  name: string;
  /** Description of the points system for users; null: none. */
  description: string | null;
  /** Address of the badge’s picture; null: it has none. */
  badgeUrl: string | null;
  /** Maximum points of a user; null: unlimited. */
  maxPoints: number | null;
  /** The user’s points now. */
  total: number;
  /** What the user can spend; missing if it is the total because nothing was spent or expired yet, users’ keys may not spend and points do not expire. */
  balance?: number;
  /** The level that the points reach; null: none. */
  level: PointsLevel | null;
  /** Number of awards. */
  awards: PointsAward[];
}

export interface UserLeaderboard {
  /** ID of the leaderboard. */
  id: string;
  /** Name of the leaderboard. */
  name: string;
  /** Key of the leaderboard. */
  key: string;
  /** What the board ranks by. */
  rankBy: "points" | "streak" | "metric";
  /** What a score is of the events of a run: the highest (max), lowest (min) or last value; absent: the sum. */
  aggregate?: "max" | "min" | "last";
  /** `ascending`: the lowest score is first; absent: the highest. */
  order?: "ascending";
  /** `first`: of equal scores, the one reached earlier ranks higher; absent: they share a rank. */
  ties?: "first";
  /** Key of the event attribute with the secondary score, which decides between equal scores; absent: none. */
  secondaryAttributeKey?: string;
  /** Which secondary score is better: the lower one (`ascending`) or the higher one (`descending`). */
  secondaryOrder?: "ascending" | "descending";
  /** Key of the breakdown attribute of a board that has exactly one; null otherwise. */
  breakdownAttribute: string | null;
  /** User attributes that divide the leaderboard: one ranking for each combination of their values. */
  breakdownAttributes: string[];
  /** Key of the metric. */
  metricKey?: string;
  /** Name of the metric. */
  metricName?: string;
  /** Key of the points system. */
  pointsSystemKey?: string;
  /** Name of the points system. */
  pointsSystemName?: string;
  /** Description of the leaderboard for users; null: none. */
  description: string | null;
  /** First day of the leaderboard. */
  start: string;
  /** Last day of the leaderboard; null: it has none. */
  end: string | null;
  /** Local time of day from which events count; null: all day. */
  startTime: string | null;
  /** Local time of day at which events stop counting; null: all day. */
  endTime: string | null;
  /** Maximum number of places; null: unlimited. */
  maxParticipants: number | null;
  /** Unit of a run’s length; null: one run for ever. */
  runUnit: ("day" | "month" | "year") | null;
  /** Length of a run in `runUnit`s; null: one run for ever. */
  runInterval: number | null;
  /** Status of the leaderboard, by its days. */
  status: "active" | "scheduled" | "finished";
  /** Place on the board, 1 being the first; null: not on it. Equal scores share a rank, unless the leaderboard has `ties`. */
  rank: number | null;
  /** The user’s score; null: there is none. */
  value: number | null;
  /** The number of the event of the score that decides between equal scores; absent or null: it sent none. */
  secondaryScore?: number | null;
  /** Share of the participants who are not ranked before the user, in percent, rounded down to one decimal; 100 only for the first. Null: the user has no score. */
  percentile: number | null;
  /** Number of users with a score in this run, and in the user’s group; also those beyond `maxParticipants`. Null: the user is in no group. */
  participants: number | null;
  /** Changes of the user’s rank, newest first. */
  history: RankHistoryEntry[];
}

export interface RankHistoryEntry {
  /** The local day. */
  date: string;
  /** Time of this rank. */
  timestamp: string;
  /** The rank before; null: not on the board. */
  previousRank: number | null;
  /** The rank at the end of the day, or now; null: not on the board. */
  rank: number | null;
  /** The score before; null: there was none. */
  previousValue: number | null;
  /** The score at the end of the day, or now; null: there was none. */
  value: number | null;
}

export interface Wrapped {
  /** The user. */
  user: User;
  /** When the user was active in the year. */
  activity: WrappedActivity;
}

/** When the user was active in the year. */
export interface WrappedActivity {
  /** Days with an event. */
  daysActive: number;
  /** Weeks with an event. */
  weeksActive: number;
  /** Months with an event. */
  monthsActive: number;
  /** The day with the most events. */
  mostActiveDay: {
    /** Changes of the user’s totals in the period, by key of the metric. */
    metrics: {
      [key: string]: WrappedMetric;
    };
    /** Changes of the user’s points in the period, by key of the points system. */
    points: {
      [key: string]: WrappedPoints;
    };
    /** The achievements that the user completed in the period. */
    achievements: CompletedAchievement[];
    /** The user’s places on leaderboards in the period, by key. */
    leaderboards: {
      [key: string]: WrappedLeaderboard;
    };
    /** The day. */
    date: string;
  };
  /** The week with the most events. */
  mostActiveWeek: {
    /** Changes of the user’s totals in the period, by key of the metric. */
    metrics: {
      [key: string]: WrappedMetric;
    };
    /** Changes of the user’s points in the period, by key of the points system. */
    points: {
      [key: string]: WrappedPoints;
    };
    /** The achievements that the user completed in the period. */
    achievements: CompletedAchievement[];
    /** The user’s places on leaderboards in the period, by key. */
    leaderboards: {
      [key: string]: WrappedLeaderboard;
    };
    /** First day of the week. */
    start: string;
    /** Last day of the week. */
    end: string;
  };
  /** The month with the most events. */
  mostActiveMonth: {
    /** Changes of the user’s totals in the period, by key of the metric. */
    metrics: {
      [key: string]: WrappedMetric;
    };
    /** Changes of the user’s points in the period, by key of the points system. */
    points: {
      [key: string]: WrappedPoints;
    };
    /** The achievements that the user completed in the period. */
    achievements: CompletedAchievement[];
    /** The user’s places on leaderboards in the period, by key. */
    leaderboards: {
      [key: string]: WrappedLeaderboard;
    };
    /** Month of the year, January being 0. */
    month: number;
  };
  /** The year as a whole. */
  entireYear: {
    /** Changes of the user’s totals in the period, by key of the metric. */
    metrics: {
      [key: string]: WrappedMetric;
    };
    /** Changes of the user’s points in the period, by key of the points system. */
    points: {
      [key: string]: WrappedPoints;
    };
    /** The achievements that the user completed in the period. */
    achievements: CompletedAchievement[];
    /** The user’s places on leaderboards in the period, by key. */
    leaderboards: {
      [key: string]: WrappedLeaderboard;
    };
    /** The longest streak of the year. */
    longestStreak: {
      /** Periods in a row that were met. */
      length: number;
      /** Length of a streak period. */
      frequency: "daily" | "weekly" | "monthly";
      /** First local day of the streak period. */
      periodStart: string | null;
      /** Last local day of the streak period. */
      periodEnd: string | null;
      /** First local day of the streak’s first period; null: there is no streak. */
      started: string | null;
    };
  };
}

export interface WrappedMetric {
  /** Name of the metric. */
  name: string;
  /** What the metric counts; for money, the currency. */
  units?: string | null;
  /** The total at the end of the year. */
  currentTotal: number;
  /** By how much the total changed in this period. */
  changeThisPeriod: number;
  /** The change as a share of the total before, in percent. */
  percentChange: number;
  /** Share of the users, in percent, who are behind the user. */
  percentileThisPeriod?: number;
  /** Sums by event attribute and value: the 100 largest of each attribute. */
  byAttribute: {
    [key: string]: {
      [key: string]: {
        /** Name of the metric. */
        name?: string;
        /** What the metric counts; for money, the currency. */
        units?: string | null;
        /** The total at the end of the year. */
        currentTotal?: number;
        /** By how much the total changed in this period. */
        changeThisPeriod?: number;
        /** The change as a share of the total before, in percent. */
        percentChange?: number;
        /** Share of the users, in percent, who are behind the user. */
        percentileThisPeriod?: number;
      };
    };
  };
}

export interface WrappedPoints {
  /** Name of the points system. */
  name: string;
  /** Description of the points system for users; null: none. */
  description?: string | null;
  /** The total at the end of the year. */
  currentTotal: number;
  /** By how much the total changed in this period. */
  changeThisPeriod: number;
  /** The change as a share of the total before, in percent. */
  percentChange: number;
  /** Share of the users, in percent, who are behind the user. */
  percentileThisPeriod?: number;
}

export interface WrappedLeaderboard {
  /** ID of the leaderboard. */
  id: string;
  /** Name of the leaderboard. */
  name: string;
  /** Key of the leaderboard. */
  key: string;
  /** What the board ranks by. */
  rankBy: "points" | "streak" | "metric";
  /** What a score is of the events of a run: the highest (max), lowest (min) or last value; absent: the sum. */
  aggregate?: "max" | "min" | "last";
  /** `ascending`: the lowest score is first; absent: the highest. */
  order?: "ascending";
  /** `first`: of equal scores, the one reached earlier ranks higher; absent: they share a rank. */
  ties?: "first";
  /** Key of the event attribute with the secondary score, which decides between equal scores; absent: none. */
  secondaryAttributeKey?: string;
  /** Which secondary score is better: the lower one (`ascending`) or the higher one (`descending`). */
  secondaryOrder?: "ascending" | "descending";
  /** Key of the breakdown attribute of a board that has exactly one; null otherwise. */
  breakdownAttribute: string | null;
  /** User attributes that divide the leaderboard: one ranking for each combination of their values. */
  breakdownAttributes: string[];
  /** Key of the metric. */
  metricKey?: string;
  /** Name of the metric. */
  metricName?: string;
  /** Key of the points system. */
  pointsSystemKey?: string;
  /** Name of the points system. */
  pointsSystemName?: string;
  /** Description of the leaderboard for users; null: none. */
  description: string | null;
  /** First day of the run. */
  start: string;
  /** Last day of the leaderboard; null: it has none. */
  end: string | null;
  /** Local time of day from which events count; null: all day. */
  startTime: string | null;
  /** Local time of day at which events stop counting; null: all day. */
  endTime: string | null;
  /** Maximum number of places; null: unlimited. */
  maxParticipants: number | null;
  /** Unit of a run’s length; null: one run for ever. */
  runUnit: ("day" | "month" | "year") | null;
  /** Length of a run in `runUnit`s; null: one run for ever. */
  runInterval: number | null;
  /** Status of the leaderboard, by its days. */
  status: "active" | "scheduled" | "finished";
  /** Place on the board, 1 being the first; null: not on it. Equal scores share a rank, unless the leaderboard has `ties`. */
  rank: number | null;
  /** The user’s score; null: there is none. */
  value: number | null;
}

export interface Streak {
  /** Periods in a row that were met. */
  length: number;
  /** Length of a streak period. */
  frequency: "daily" | "weekly" | "monthly";
  /** First local day of the streak’s first period; null: there is no streak. */
  started: string | null;
  /** First local day of the streak period. */
  periodStart: string | null;
  /** Last local day of the streak period. */
  periodEnd: string | null;
  /** The last local day on which the streak can be extended; null: there is no streak to lose. */
  expires: string | null;
  /** Freezes: each excuses a missed period. */
  freezes?: number;
  /** Maximum number of freezes of a user. */
  maxFreezes?: number;
  /** Periods in a row after which freezes are earned; null: never. */
  freezeAutoEarnInterval?: number;
  /** Number of freezes earned at a time; null: none. */
  freezeAutoEarnAmount?: number;
  /** Events that extended a streak. */
  extended: string | null;
  /** The latest periods, oldest first. */
  streakHistory: StreakHistoryEntry[];
  /** The user’s pauses. */
  pauses: {
    /** ID of the pause. */
    id: string;
    /** First day of the pause. */
    start: string;
    /** Last day of the pause; null: it has none. */
    end: string;
  }[];
}

export interface StreakHistoryEntry {
  /** First local day of the streak period. */
  periodStart: string;
  /** Last local day of the streak period. */
  periodEnd: string;
  /** Periods in a row that were met. */
  length: number;
  /** Whether a freeze excused the period. */
  usedFreeze?: boolean;
  /** Whether the period was paused. */
  usedPause: boolean;
  /** When an administrator reset the streak in this period. */
  resetAt?: string;
}

export interface StreakLength {
  /** Your own ID of the user. */
  userId: string;
  /** Length of the streak that is needed. */
  streakLength: number;
  /** Events that extended a streak. */
  extended: string | null;
}

export interface StreakRanking {
  /** Your own ID of the user. */
  userId: string;
  /** Name of the user; null: none. */
  name: string | null;
  /** Length of the streak that is needed. */
  streakLength: number;
}

export interface PointsSystem {
  /** ID of the points system. */
  id: string;
  /** Name of the points system. */
  name: string;
  /** Description of the points system for users; null: none. */
  description: string | null;
  /** Address of the badge’s picture; null: it has none. */
  badgeUrl: string | null;
  /** Maximum points of a user; null: unlimited. */
  maxPoints: number | null;
  /** What gives points. */
  triggers: PointsTrigger[];
}

export interface PointsLevel {
  /** ID of the level. */
  id: string;
  /** Key of the level. */
  key: string;
  /** Name of the level. */
  name: string;
  /** Description of the level for users; null: none. */
  description: string;
  /** Address of the badge’s picture; null: it has none. */
  badgeUrl: string | null;
  /** Minimum points of the level. */
  points: number;
}

export interface PointsBoost {
  /** ID of the boost. */
  id: string;
  /** Name of the boost. */
  name: string;
  /** Status of the boost, by its days. */
  status: "active" | "scheduled" | "finished";
  /** First day of the boost. */
  start: string;
  /** Last day of the boost; null: it has none. */
  end: string | null;
  /** Factor by which awards are multiplied. */
  multiplier: number;
  /** How multiplied points are rounded. */
  rounding: "down" | "up" | "nearest";
}

export interface PointsRange {
  /** Smallest number of points of the range. */
  from: number;
  /** Largest number of points of the range. */
  to: number;
  /** Number of users. */
  users: number;
}

export interface PointsLevelUsers {
  /** The level that the points reach; null: none. */
  level: PointsLevel;
  /** Number of users. */
  users: number;
}

export interface SpendRequest {
  /** Number of points. */
  amount: number;
  /** Why, in your own words; null: not given. */
  reason?: string;
  /** Your own ID, such as that of an order; null: not given. */
  reference?: string;
}

export interface HoldRequest {
  /** Number of points. */
  amount: number;
  /** Why, in your own words; null: not given. */
  reason?: string;
  /** Your own ID, such as that of an order; null: not given. */
  reference?: string;
  /** Seconds until the hold ends by itself. */
  expiresIn: number;
}

export interface BalanceChange {
  /** ID of the spending, hold, capture, release, refund or expiry. */
  id: string;
  /** What was done with the points. */
  type: "spend" | "hold" | "capture" | "release" | "refund" | "expire";
  /** Key of the points system; null: it was deleted. */
  pointsSystem: string | null;
  /** Number of points. */
  amount: number;
  /** Points that can be spent: `net` less what was spent and not refunded, what expired and what is held. Deleted users stay counted. */
  balance: number;
  /** The spending or hold that a capture, release or refund is about; null for spendings, holds and expired points. */
  spendingId: string | null;
  /** When the hold ends by itself; null: it is no hold. */
  expiresAt: string | null;
  /** Why, in your own words; null: not given. */
  reason: string | null;
  /** Your own ID, such as that of an order; null: not given. */
  reference: string | null;
  /** Key of the reward that the spending paid for; null: it was deleted. Missing for everything else. */
  reward?: string | null;
  /** When it was made. */
  createdAt: string;
}

export interface UserReward {
  /** ID of the reward. */
  id: string;
  /** Key of the reward. */
  key: string;
  /** Name of the reward. */
  name: string;
  /** Description of the reward for users; null: none. */
  description: string | null;
  /** Address of the badge’s picture; null: it has none. */
  badgeUrl: string | null;
  /** Key of the points system whose points pay for it. */
  pointsSystem: string;
  /** Points that it costs. */
  price: number;
  /** How many claims there may ever be, apart from cancelled ones; null: any number. */
  stock: number | null;
  /** How many can still be claimed; null: any number. */
  remaining: number | null;
  /** How many claims a user may have, apart from cancelled ones; null: any number. */
  limitPerUser: number | null;
  /** How many claims the user has, apart from cancelled ones. */
  claims: number;
  /** What the user can spend. */
  balance: number;
  /** Whether the balance covers the price. */
  affordable: boolean;
  /** Whether the caller could claim it for the user now. */
  claimable: boolean;
}

export interface ClaimRequest {
  /** Your own ID of the user. */
  userId: string;
}

export interface Claim {
  /** ID of the claim, and of the spending that paid for it. */
  id: string;
  /** Your own ID of the user. */
  userId: string;
  /** The reward. */
  reward: {
    /** ID of the reward; null: unknown. */
    id: string | null;
    /** Key of the reward; null: unknown. */
    key: string | null;
    /** Name of the reward; null: unknown. */
    name: string | null;
  };
  /** Key of the points system whose points paid; null: it was deleted. */
  pointsSystem: string | null;
  /** Points that it costs. */
  price: number;
  /** `claimed`: paid; `fulfilled`: the user has it; `cancelled`: the points were given back. */
  state: "claimed" | "fulfilled" | "cancelled";
  /** Why it was cancelled; null: not given, or not cancelled. */
  reason: string | null;
  /** When it was paid. */
  claimedAt: string | null;
  /** When an administrator noted that the user has got it; null: not yet. */
  fulfilledAt: string | null;
  /** When it was cancelled; null: it was not. */
  cancelledAt: string | null;
}

export interface ClaimsPage {
  /** Claims, newest first. */
  claims: Claim[];
  /** What to send as `cursor` for the next page; null: this is the last. */
  nextCursor: string | null;
}

export interface Leaderboard {
  /** ID of the leaderboard. */
  id: string;
  /** Name of the leaderboard. */
  name: string;
  /** Key of the leaderboard. */
  key: string;
  /** What the board ranks by. */
  rankBy: "points" | "streak" | "metric";
  /** What a score is of the events of a run: the highest (max), lowest (min) or last value; absent: the sum. */
  aggregate?: "max" | "min" | "last";
  /** `ascending`: the lowest score is first; absent: the highest. */
  order?: "ascending";
  /** `first`: of equal scores, the one reached earlier ranks higher; absent: they share a rank. */
  ties?: "first";
  /** Key of the event attribute with the secondary score, which decides between equal scores; absent: none. */
  secondaryAttributeKey?: string;
  /** Which secondary score is better: the lower one (`ascending`) or the higher one (`descending`). */
  secondaryOrder?: "ascending" | "descending";
  /** Key of the breakdown attribute of a board that has exactly one; null otherwise. */
  breakdownAttribute: string | null;
  /** User attributes that divide the leaderboard: one ranking for each combination of their values. */
  breakdownAttributes: string[];
  /** Key of the metric. */
  metricKey?: string;
  /** Name of the metric. */
  metricName?: string;
  /** Key of the points system. */
  pointsSystemKey?: string;
  /** Name of the points system. */
  pointsSystemName?: string;
  /** Description of the leaderboard for users; null: none. */
  description: string | null;
  /** First day of the leaderboard. */
  start: string;
  /** Last day of the leaderboard; null: it has none. */
  end: string | null;
  /** Local time of day from which events count; null: all day. */
  startTime: string | null;
  /** Local time of day at which events stop counting; null: all day. */
  endTime: string | null;
  /** Maximum number of places; null: unlimited. */
  maxParticipants: number | null;
  /** Unit of a run’s length; null: one run for ever. */
  runUnit: ("day" | "month" | "year") | null;
  /** Length of a run in `runUnit`s; null: one run for ever. */
  runInterval: number | null;
  /** Status of the leaderboard, by its days. */
  status: "active" | "scheduled" | "finished";
}

export interface LeaderboardPage {
  /** ID of the leaderboard. */
  id: string;
  /** Name of the leaderboard. */
  name: string;
  /** Key of the leaderboard. */
  key: string;
  /** What the board ranks by. */
  rankBy: "points" | "streak" | "metric";
  /** What a score is of the events of a run: the highest (max), lowest (min) or last value; absent: the sum. */
  aggregate?: "max" | "min" | "last";
  /** `ascending`: the lowest score is first; absent: the highest. */
  order?: "ascending";
  /** `first`: of equal scores, the one reached earlier ranks higher; absent: they share a rank. */
  ties?: "first";
  /** Key of the event attribute with the secondary score, which decides between equal scores; absent: none. */
  secondaryAttributeKey?: string;
  /** Which secondary score is better: the lower one (`ascending`) or the higher one (`descending`). */
  secondaryOrder?: "ascending" | "descending";
  /** Key of the breakdown attribute of a board that has exactly one; null otherwise. */
  breakdownAttribute: string | null;
  /** User attributes that divide the leaderboard: one ranking for each combination of their values. */
  breakdownAttributes: string[];
  /** Key of the metric. */
  metricKey?: string;
  /** Name of the metric. */
  metricName?: string;
  /** Key of the points system. */
  pointsSystemKey?: string;
  /** Name of the points system. */
  pointsSystemName?: string;
  /** Description of the leaderboard for users; null: none. */
  description: string | null;
  /** First day of the leaderboard. */
  start: string;
  /** Last day of the leaderboard; null: it has none. */
  end: string | null;
  /** Local time of day from which events count; null: all day. */
  startTime: string | null;
  /** Local time of day at which events stop counting; null: all day. */
  endTime: string | null;
  /** Maximum number of places; null: unlimited. */
  maxParticipants: number | null;
  /** Unit of a run’s length; null: one run for ever. */
  runUnit: ("day" | "month" | "year") | null;
  /** Length of a run in `runUnit`s; null: one run for ever. */
  runInterval: number | null;
  /** Status of the leaderboard, by its days. */
  status: "active" | "scheduled" | "finished";
  /** Places of the leaderboard, from the first requested one. */
  rankings: Ranking[];
}

export interface Ranking {
  /** Your own ID of the user. */
  userId: string;
  /** Name of the user; null: not known. */
  userName: string | null;
  /** Rank, 1 being the first; equal scores share a rank, unless the leaderboard has `ties`. `POST /v1/leaderboards/{key}/rankings` ranks only the given users. */
  rank: number;
  /** The user’s score. */
  value: number;
  /** The number of the event of the score that decides between equal scores; absent or null: it sent none. */
  secondaryScore?: number;
  /** What the event that made the entry sent as `metadata`; absent if there is none. */
  metadata?: {
    [key: string]: unknown;
  };
  /** Rewards that users pay for with points. */
  rewards?: {
    /** Points. */
    points: {
      [key: string]: number;
    };
    /** The achievements. */
    achievements: string[];
  };
}

export interface RankingsAmongRequest {
  /** The users to rank. A repeated ID counts once. */
  userIds: string[];
  /** One of the users; `offset` then counts from this user’s place. */
  around?: string;
  /** How many places to skip; 0 by default. With `around` it may be negative, for the places above. */
  offset?: number;
  /** Maximum number of places in the answer; by default all. */
  limit?: number;
  /** First day of the run; by default the current one, which the UTC date decides, or the local date of `around`. */
  run?: string;
  /** The group of a leaderboard with breakdown attributes: their values, by key. By default all groups are ranked together; with an application key, its user’s group is ranked. */
  userAttributes?: {
    [key: string]: string;
  };
}

export interface TeamsPage {
  /** ID of the leaderboard. */
  id: string;
  /** Name of the leaderboard. */
  name: string;
  /** Key of the leaderboard. */
  key: string;
  /** What the board ranks by. */
  rankBy: "points" | "streak" | "metric";
  /** What a score is of the events of a run: the highest (max), lowest (min) or last value; absent: the sum. */
  aggregate?: "max" | "min" | "last";
  /** `ascending`: the lowest score is first; absent: the highest. */
  order?: "ascending";
  /** `first`: of equal scores, the one reached earlier ranks higher; absent: they share a rank. */
  ties?: "first";
  /** Key of the event attribute with the secondary score, which decides between equal scores; absent: none. */
  secondaryAttributeKey?: string;
  /** Which secondary score is better: the lower one (`ascending`) or the higher one (`descending`). */
  secondaryOrder?: "ascending" | "descending";
  /** Key of the breakdown attribute of a board that has exactly one; null otherwise. */
  breakdownAttribute: string | null;
  /** User attributes that divide the leaderboard: one ranking for each combination of their values. */
  breakdownAttributes: string[];
  /** Key of the metric. */
  metricKey?: string;
  /** Name of the metric. */
  metricName?: string;
  /** Key of the points system. */
  pointsSystemKey?: string;
  /** Name of the points system. */
  pointsSystemName?: string;
  /** Description of the leaderboard for users; null: none. */
  description: string | null;
  /** First day of the leaderboard. */
  start: string;
  /** Last day of the leaderboard; null: it has none. */
  end: string | null;
  /** Local time of day from which events count; null: all day. */
  startTime: string | null;
  /** Local time of day at which events stop counting; null: all day. */
  endTime: string | null;
  /** Maximum number of places; null: unlimited. */
  maxParticipants: number | null;
  /** Unit of a run’s length; null: one run for ever. */
  runUnit: ("day" | "month" | "year") | null;
  /** Length of a run in `runUnit`s; null: one run for ever. */
  runInterval: number | null;
  /** Status of the leaderboard. */
  status: "active" | "scheduled" | "finished";
  /** Key of the user attribute that names a user’s team. */
  teamAttribute: string;
  /** What teams are ranked by: `sum` or `mean` of what members earned. */
  teamsBy: "sum" | "mean";
  /** How many members must have earned something for a team to be ranked. */
  teamMinMembers: number;
  /** Places of the leaderboard, from the first requested one. */
  rankings: TeamRanking[];
}

export interface UserLeague {
  /** Key of the leaderboard. */
  leaderboardKey: string;
  /** Status of the leaderboard. */
  status: "active" | "scheduled" | "finished";
  /** The run, and the time left. */
  run: {
    /** First day of the run. */
    start: string;
    /** Last day of the run. */
    end: string;
    /** When the user’s last day of the run ends. */
    endsAt: string;
    /** Seconds until `endsAt`; 0 after it. */
    secondsLeft: number;
    /** When ranks are final, and users move. */
    finalAt: string;
    /** Whether all users have moved. */
    isClosed: boolean;
  };
  /** The tier in which the user is in this run. */
  tier: {
    /** Number of the tier; 1 is the lowest. */
    number: number;
    /** Name of the tier. */
    name: string;
    /** Badge of the tier; null or absent: it has none. */
    badge: {
      /** Address of the picture. */
      url: string;
    } | null;
  };
  /** How many tiers there are. */
  tiers: number;
  /** The user’s rank in the cohort; null: no score, or no cohort. */
  rank: number | null;
  /** The user’s score in the run; null: none. */
  value: number | null;
  /** The number of the event of the score that decides between equal scores; absent or null: it sent none. */
  secondaryScore?: number | null;
  /** How the user would move if the run ended now; of a closed run: how the user moved. */
  move: "up" | "stay" | "down";
  /** The user’s cohort; null: none yet. */
  cohort: {
    /** How many users of the cohort have a score. */
    users: number;
    /** These users, best first. */
    rankings: {
      /** Your own ID of the user. */
      userId: string;
      /** Name of the user; null: not known. */
      userName: string | null;
      /** Place on the board, 1 being the first; null: not on it. Equal scores share a rank, unless the leaderboard has `ties`. */
      rank: number;
      /** The user’s score. */
      value: number;
      /** The number of the event of the score that decides between equal scores; absent or null: it sent none. */
      secondaryScore?: number;
      /** How the user would move if the run ended now; of a closed run: how the user moved. */
      move: "up" | "stay" | "down";
    }[];
  } | null;
}

export interface TeamRanking {
  /** Value of the attribute that names the team. */
  team: string;
  /** Rank among the teams; the same for equal values. */
  rank: number;
  /** What the members earned, or the mean of it. */
  value: number;
  /** Number of members who earned something. */
  members: number;
}

/** A report or a list of reports, in the tenant’s format. */
export type MessageFeedbackReports = unknown[] | {
  [key: string]: unknown;
};

export interface MessageFeedbackCounts {
  /** E-mails that arrived. */
  delivered: number;
  /** E-mails that did not arrive. */
  bounced: number;
  /** Complaints. */
  complained: number;
  /** Reports that change nothing, because they or a weightier one came before. */
  repeated: number;
  /** Reports about an e-mail or address that the tenant does not have. */
  unknown: number;
  /** Reports of other types. */
  ignored: number;
  /** Reports without a readable e-mail or address. */
  invalid: number;
}

export interface LiveTicketRequest {
  /** Keys or IDs of the leaderboards whose changes, and the user’s ranks, are reported. */
  boards?: string[];
  /** Only messages of these types; all if omitted. */
  types?: ("achievement.completed" | "streak.started" | "streak.extended" | "streak.lost" | "streak.freeze_consumed" | "streak.freeze_earned" | "points.changed" | "points.level_changed" | "points.spent" | "points.refunded" | "points.expiring" | "points.expired" | "points.boost_started" | "points.boost_finished" | "reward.claimed" | "reward.fulfilled" | "reward.cancelled" | "leaderboard.started" | "leaderboard.changed" | "leaderboard.finished" | "leaderboard.rank_changed" | "leaderboard.rewarded" | "leaderboard.tier_changed" | "user.merged" | "emails.recap_due" | "emails.reactivation_due" | "emails.streak_reminder_due" | "emails.achievement_due" | "event")[];
  /** Among messages about a metric, only those of these metrics. */
  metricIds?: string[];
  /** Among messages about a leaderboard, only those of these leaderboards. */
  leaderboardIds?: string[];
  /** Among messages about a points system, only those of these points systems. */
  pointsSystemIds?: string[];
  /** Only messages about this user. An application key may only name its own user. */
  userId?: string;
}

export interface LiveTicket {
  /** Opens one stream: `GET /v1/live?ticket=…`. */
  ticket: string;
  /** Seconds until the ticket expires. */
  expiresIn: number;
}

export interface OpenApiDocument {
  /** Version of OpenAPI. */
  openapi: string;
  /** About the document. */
  info: {
    /** Version of the interface. */
    version: string;
  };
}

export interface AchievementCompleted {
  /** Type of the message. */
  type: "achievement.completed";
  /** The user at the reported time. */
  user: User;
  /** The achievement that was completed. */
  achievement: CompletedAchievement;
}

export interface StreakStarted {
  /** Type of the message. */
  type: "streak.started";
  /** The user at the reported time. */
  user: User;
  /** The current streak. */
  streak: {
    /** Periods in a row that were met. */
    length: number;
    /** Length of a streak period. */
    frequency: "daily" | "weekly" | "monthly";
    /** First local day of the streak’s first period; null: there is no streak. */
    started: string | null;
    /** First local day of the streak period. */
    periodStart: string | null;
    /** Last local day of the streak period. */
    periodEnd: string | null;
    /** The last local day on which the streak can be extended; null: there is no streak to lose. */
    expires: string | null;
    /** Freezes: each excuses a missed period. */
    freezes?: number;
    /** Maximum number of freezes of a user. */
    maxFreezes?: number;
    /** Periods in a row after which freezes are earned; null: never. */
    freezeAutoEarnInterval?: number;
    /** Number of freezes earned at a time; null: none. */
    freezeAutoEarnAmount?: number;
  };
}

export interface StreakExtended {
  /** Type of the message. */
  type: "streak.extended";
  /** The user at the reported time. */
  user: User;
  /** The current streak. */
  streak: {
    /** Periods in a row that were met. */
    length: number;
    /** Length of a streak period. */
    frequency: "daily" | "weekly" | "monthly";
    /** First local day of the streak’s first period; null: there is no streak. */
    started: string | null;
    /** First local day of the streak period. */
    periodStart: string | null;
    /** Last local day of the streak period. */
    periodEnd: string | null;
    /** The last local day on which the streak can be extended; null: there is no streak to lose. */
    expires: string | null;
    /** Freezes: each excuses a missed period. */
    freezes?: number;
    /** Maximum number of freezes of a user. */
    maxFreezes?: number;
    /** Periods in a row after which freezes are earned; null: never. */
    freezeAutoEarnInterval?: number;
    /** Number of freezes earned at a time; null: none. */
    freezeAutoEarnAmount?: number;
  };
}

export interface StreakLost {
  /** Type of the message. */
  type: "streak.lost";
  /** The user at the reported time. */
  user: User;
  /** Length of the streak, in periods. */
  length: number;
}

export interface StreakFreezeConsumed {
  /** Type of the message. */
  type: "streak.freeze_consumed";
  /** The user at the reported time. */
  user: User;
  /** How many freezes were consumed. */
  consumed: number;
  /** How many freezes the user has now. */
  freezes: number;
}

export interface StreakFreezeEarned {
  /** Type of the message. */
  type: "streak.freeze_earned";
  /** The user at the reported time. */
  user: User;
  /** How many freezes were earned. */
  earned: number;
  /** How many freezes the user has now. */
  freezes: number;
}

export interface PointsChanged {
  /** Type of the message. */
  type: "points.changed";
  /** The user at the reported time. */
  user: User;
  /** The points system, with the user’s total. */
  points: EventPoints;
}

export interface PointsLevelChanged {
  /** Type of the message. */
  type: "points.level_changed";
  /** The user at the reported time. */
  user: User;
  /** The points system, with the user’s total. */
  points: {
    /** Key of the points system. */
    key: string;
    /** ID of the points system. */
    id: string;
    /** Name of the points system. */
    name: string;
    /** Description of the points system for users; null: none. */
    description: string | null;
    /** Address of the badge’s picture; null: it has none. */
    badgeUrl: string | null;
    /** Maximum points of a user; null: unlimited. */
    maxPoints: number | null;
    /** The user’s points afterwards. */
    total: number;
  };
  /** The level that they reached before; null: none. */
  previousLevel: PointsLevel | null;
  /** The level that the points reach now; null: none. */
  newLevel: PointsLevel | null;
}

export interface PointsSpent {
  /** Type of the message. */
  type: "points.spent";
  /** The user at the reported time. */
  user: User;
  /** The points system, with the user’s total. */
  points: {
    /** Key of the points system. */
    key: string;
    /** ID of the points system. */
    id: string;
    /** Name of the points system. */
    name: string;
    /** Description of the points system for users; null: none. */
    description: string | null;
    /** Address of the badge’s picture; null: it has none. */
    badgeUrl: string | null;
    /** Maximum points of a user; null: unlimited. */
    maxPoints: number | null;
  };
  /** The spending, captured hold or refund. */
  spending: BalanceChange;
}

export interface PointsRefunded {
  /** Type of the message. */
  type: "points.refunded";
  /** The user at the reported time. */
  user: User;
  /** The points system, with the user’s total. */
  points: {
    /** Key of the points system. */
    key: string;
    /** ID of the points system. */
    id: string;
    /** Name of the points system. */
    name: string;
    /** Description of the points system for users; null: none. */
    description: string | null;
    /** Address of the badge’s picture; null: it has none. */
    badgeUrl: string | null;
    /** Maximum points of a user; null: unlimited. */
    maxPoints: number | null;
  };
  /** The spending, captured hold or refund. */
  spending: BalanceChange;
}

export interface PointsExpiring {
  /** Type of the message. */
  type: "points.expiring";
  /** The user at the reported time. */
  user: User;
  /** The points system, with the user’s total. */
  points: {
    /** Key of the points system. */
    key: string;
    /** ID of the points system. */
    id: string;
    /** Name of the points system. */
    name: string;
    /** Description of the points system for users; null: none. */
    description: string | null;
    /** Address of the badge’s picture; null: it has none. */
    badgeUrl: string | null;
    /** Maximum points of a user; null: unlimited. */
    maxPoints: number | null;
  };
  /** Points that expire together. */
  expiry: {
    /** Number of points. */
    amount: number;
    /** Points that can be spent: `net` less what was spent and not refunded, what expired and what is held. Deleted users stay counted. */
    balance: number;
    /** The day (UTC) at whose start they expire; in `points.expired`, the day on which they did. */
    date: string;
  };
}

export interface PointsExpired {
  /** Type of the message. */
  type: "points.expired";
  /** The user at the reported time. */
  user: User;
  /** The points system, with the user’s total. */
  points: {
    /** Key of the points system. */
    key: string;
    /** ID of the points system. */
    id: string;
    /** Name of the points system. */
    name: string;
    /** Description of the points system for users; null: none. */
    description: string | null;
    /** Address of the badge’s picture; null: it has none. */
    badgeUrl: string | null;
    /** Maximum points of a user; null: unlimited. */
    maxPoints: number | null;
  };
  /** Points that expire together. */
  expiry: {
    /** Number of points. */
    amount: number;
    /** Points that can be spent: `net` less what was spent and not refunded, what expired and what is held. Deleted users stay counted. */
    balance: number;
    /** The day (UTC) at whose start they expire; in `points.expired`, the day on which they did. */
    date: string;
  };
}

export interface PointsBoostStarted {
  /** Type of the message. */
  type: "points.boost_started";
  /** When it became due. */
  timestamp: string;
  /** The boost. */
  boost: {
    /** ID of the boost. */
    id: string;
    /** Name of the boost. */
    name: string;
    /** Status of the boost, by its days. */
    status: "active" | "finished";
    /** Your own ID of the user. */
    userId: string | null;
    /** ID of the points system. */
    pointsSystemId: string;
    /** Key of the points system. */
    pointsSystemKey: string;
    /** Name of the points system. */
    pointsSystemName: string;
    /** First day of the boost. */
    start: string;
    /** Last day of the boost; null: it has none. */
    end: string | null;
    /** Factor by which awards are multiplied. */
    multiplier: number;
    /** How multiplied points are rounded. */
    rounding: "down" | "up" | "nearest";
  };
}

export interface PointsBoostFinished {
  /** Type of the message. */
  type: "points.boost_finished";
  /** When it became due. */
  timestamp: string;
  /** The boost. */
  boost: {
    /** ID of the boost. */
    id: string;
    /** Name of the boost. */
    name: string;
    /** Status of the boost, by its days. */
    status: "active" | "finished";
    /** Your own ID of the user. */
    userId: string | null;
    /** ID of the points system. */
    pointsSystemId: string;
    /** Key of the points system. */
    pointsSystemKey: string;
    /** Name of the points system. */
    pointsSystemName: string;
    /** First day of the boost. */
    start: string;
    /** Last day of the boost; null: it has none. */
    end: string | null;
    /** Factor by which awards are multiplied. */
    multiplier: number;
    /** How multiplied points are rounded. */
    rounding: "down" | "up" | "nearest";
  };
}

export interface RewardClaimed {
  /** Type of the message. */
  type: "reward.claimed";
  /** The user at the reported time. */
  user: User;
  /** The claim. */
  claim: Claim;
}

export interface RewardFulfilled {
  /** Type of the message. */
  type: "reward.fulfilled";
  /** The user at the reported time. */
  user: User;
  /** The claim. */
  claim: Claim;
}

export interface RewardCancelled {
  /** Type of the message. */
  type: "reward.cancelled";
  /** The user at the reported time. */
  user: User;
  /** The claim. */
  claim: Claim;
}

export interface LeaderboardStarted {
  /** Type of the message. */
  type: "leaderboard.started";
  /** The leaderboard. */
  leaderboard: {
    /** ID of the leaderboard. */
    id: string;
    /** Name of the leaderboard. */
    name: string;
    /** Key of the leaderboard. */
    key: string;
    /** What the board ranks by. */
    rankBy: "points" | "streak" | "metric";
    /** What a score is of the events of a run: the highest (max), lowest (min) or last value; absent: the sum. */
    aggregate?: "max" | "min" | "last";
    /** `ascending`: the lowest score is first; absent: the highest. */
    order?: "ascending";
    /** `first`: of equal scores, the one reached earlier ranks higher; absent: they share a rank. */
    ties?: "first";
    /** Key of the event attribute with the secondary score, which decides between equal scores; absent: none. */
    secondaryAttributeKey?: string;
    /** Which secondary score is better: the lower one (`ascending`) or the higher one (`descending`). */
    secondaryOrder?: "ascending" | "descending";
    /** Key of the breakdown attribute of a board that has exactly one; null otherwise. */
    breakdownAttribute: string | null;
    /** User attributes that divide the leaderboard: one ranking for each combination of their values. */
    breakdownAttributes: string[];
    /** Key of the metric. */
    metricKey?: string;
    /** Name of the metric. */
    metricName?: string;
    /** Key of the points system. */
    pointsSystemKey?: string;
    /** Name of the points system. */
    pointsSystemName?: string;
    /** Description of the leaderboard for users; null: none. */
    description: string | null;
    /** First day of the leaderboard. */
    start: string;
    /** Last day of the leaderboard; null: it has none. */
    end: string | null;
    /** Local time of day from which events count; null: all day. */
    startTime: string | null;
    /** Local time of day at which events stop counting; null: all day. */
    endTime: string | null;
    /** Maximum number of places; null: unlimited. */
    maxParticipants: number | null;
    /** Unit of a run’s length; null: one run for ever. */
    runUnit: ("day" | "month" | "year") | null;
    /** Length of a run in `runUnit`s; null: one run for ever. */
    runInterval: number | null;
    /** Status of the leaderboard, by its days. */
    status: "active" | "scheduled" | "finished";
    /** Places of the leaderboard, from the first requested one. */
    rankings: Ranking[];
    /** The user’s value of it; null otherwise. */
    breakdownAttributeValue?: string;
    /** The user’s values of the board’s breakdown attributes. */
    breakdownAttributeValues?: AttributeValue[];
  };
}

export interface LeaderboardChanged {
  /** Type of the message. */
  type: "leaderboard.changed";
  /** The leaderboard. */
  leaderboard: {
    /** ID of the leaderboard. */
    id: string;
    /** Name of the leaderboard. */
    name: string;
    /** Key of the leaderboard. */
    key: string;
    /** What the board ranks by. */
    rankBy: "points" | "streak" | "metric";
    /** What a score is of the events of a run: the highest (max), lowest (min) or last value; absent: the sum. */
    aggregate?: "max" | "min" | "last";
    /** `ascending`: the lowest score is first; absent: the highest. */
    order?: "ascending";
    /** `first`: of equal scores, the one reached earlier ranks higher; absent: they share a rank. */
    ties?: "first";
    /** Key of the event attribute with the secondary score, which decides between equal scores; absent: none. */
    secondaryAttributeKey?: string;
    /** Which secondary score is better: the lower one (`ascending`) or the higher one (`descending`). */
    secondaryOrder?: "ascending" | "descending";
    /** Key of the breakdown attribute of a board that has exactly one; null otherwise. */
    breakdownAttribute: string | null;
    /** User attributes that divide the leaderboard: one ranking for each combination of their values. */
    breakdownAttributes: string[];
    /** Key of the metric. */
    metricKey?: string;
    /** Name of the metric. */
    metricName?: string;
    /** Key of the points system. */
    pointsSystemKey?: string;
    /** Name of the points system. */
    pointsSystemName?: string;
    /** Description of the leaderboard for users; null: none. */
    description: string | null;
    /** First day of the leaderboard. */
    start: string;
    /** Last day of the leaderboard; null: it has none. */
    end: string | null;
    /** Local time of day from which events count; null: all day. */
    startTime: string | null;
    /** Local time of day at which events stop counting; null: all day. */
    endTime: string | null;
    /** Maximum number of places; null: unlimited. */
    maxParticipants: number | null;
    /** Unit of a run’s length; null: one run for ever. */
    runUnit: ("day" | "month" | "year") | null;
    /** Length of a run in `runUnit`s; null: one run for ever. */
    runInterval: number | null;
    /** Status of the leaderboard, by its days. */
    status: "active" | "scheduled" | "finished";
    /** Places of the leaderboard, from the first requested one. */
    rankings: Ranking[];
    /** The user’s value of it; null otherwise. */
    breakdownAttributeValue?: string;
    /** The user’s values of the board’s breakdown attributes. */
    breakdownAttributeValues?: AttributeValue[];
  };
}

export interface LeaderboardFinished {
  /** Type of the message. */
  type: "leaderboard.finished";
  /** The leaderboard. */
  leaderboard: {
    /** ID of the leaderboard. */
    id: string;
    /** Name of the leaderboard. */
    name: string;
    /** Key of the leaderboard. */
    key: string;
    /** What the board ranks by. */
    rankBy: "points" | "streak" | "metric";
    /** What a score is of the events of a run: the highest (max), lowest (min) or last value; absent: the sum. */
    aggregate?: "max" | "min" | "last";
    /** `ascending`: the lowest score is first; absent: the highest. */
    order?: "ascending";
    /** `first`: of equal scores, the one reached earlier ranks higher; absent: they share a rank. */
    ties?: "first";
    /** Key of the event attribute with the secondary score, which decides between equal scores; absent: none. */
    secondaryAttributeKey?: string;
    /** Which secondary score is better: the lower one (`ascending`) or the higher one (`descending`). */
    secondaryOrder?: "ascending" | "descending";
    /** Key of the breakdown attribute of a board that has exactly one; null otherwise. */
    breakdownAttribute: string | null;
    /** User attributes that divide the leaderboard: one ranking for each combination of their values. */
    breakdownAttributes: string[];
    /** Key of the metric. */
    metricKey?: string;
    /** Name of the metric. */
    metricName?: string;
    /** Key of the points system. */
    pointsSystemKey?: string;
    /** Name of the points system. */
    pointsSystemName?: string;
    /** Description of the leaderboard for users; null: none. */
    description: string | null;
    /** First day of the leaderboard. */
    start: string;
    /** Last day of the leaderboard; null: it has none. */
    end: string | null;
    /** Local time of day from which events count; null: all day. */
    startTime: string | null;
    /** Local time of day at which events stop counting; null: all day. */
    endTime: string | null;
    /** Maximum number of places; null: unlimited. */
    maxParticipants: number | null;
    /** Unit of a run’s length; null: one run for ever. */
    runUnit: ("day" | "month" | "year") | null;
    /** Length of a run in `runUnit`s; null: one run for ever. */
    runInterval: number | null;
    /** Status of the leaderboard, by its days. */
    status: "active" | "scheduled" | "finished";
    /** Places of the leaderboard, from the first requested one. */
    rankings: Ranking[];
    /** The user’s value of it; null otherwise. */
    breakdownAttributeValue?: string;
    /** The user’s values of the board’s breakdown attributes. */
    breakdownAttributeValues?: AttributeValue[];
  };
}

export interface LeaderboardRankChanged {
  /** Type of the message. */
  type: "leaderboard.rank_changed";
  /** The user at the reported time. */
  user: User;
  /** The leaderboard. */
  leaderboard: {
    /** ID of the leaderboard. */
    id: string;
    /** Name of the leaderboard. */
    name: string;
    /** Key of the leaderboard. */
    key: string;
    /** What the board ranks by. */
    rankBy: "points" | "streak" | "metric";
    /** What a score is of the events of a run: the highest (max), lowest (min) or last value; absent: the sum. */
    aggregate?: "max" | "min" | "last";
    /** `ascending`: the lowest score is first; absent: the highest. */
    order?: "ascending";
    /** `first`: of equal scores, the one reached earlier ranks higher; absent: they share a rank. */
    ties?: "first";
    /** Key of the event attribute with the secondary score, which decides between equal scores; absent: none. */
    secondaryAttributeKey?: string;
    /** Which secondary score is better: the lower one (`ascending`) or the higher one (`descending`). */
    secondaryOrder?: "ascending" | "descending";
    /** Key of the breakdown attribute of a board that has exactly one; null otherwise. */
    breakdownAttribute: string | null;
    /** User attributes that divide the leaderboard: one ranking for each combination of their values. */
    breakdownAttributes: string[];
    /** Key of the metric. */
    metricKey?: string;
    /** Name of the metric. */
    metricName?: string;
    /** Key of the points system. */
    pointsSystemKey?: string;
    /** Name of the points system. */
    pointsSystemName?: string;
    /** Description of the leaderboard for users; null: none. */
    description: string | null;
    /** First day of the leaderboard. */
    start: string;
    /** Last day of the leaderboard; null: it has none. */
    end: string | null;
    /** Local time of day from which events count; null: all day. */
    startTime: string | null;
    /** Local time of day at which events stop counting; null: all day. */
    endTime: string | null;
    /** Maximum number of places; null: unlimited. */
    maxParticipants: number | null;
    /** Unit of a run’s length; null: one run for ever. */
    runUnit: ("day" | "month" | "year") | null;
    /** Length of a run in `runUnit`s; null: one run for ever. */
    runInterval: number | null;
    /** The user’s value of it; null otherwise. */
    breakdownAttributeValue?: string;
    /** The user’s values of the board’s breakdown attributes. */
    breakdownAttributeValues?: AttributeValue[];
    /** Status of the leaderboard, by its days. */
    status: "active" | "scheduled" | "finished";
    /** Place on the board, 1 being the first; null: not on it. Equal scores share a rank, unless the leaderboard has `ties`. */
    rank: number | null;
    /** The user’s score; null: there is none. */
    value: number | null;
    /** The rank before; null: not on the board. */
    previousRank: number | null;
    /** The score before; null: there was none. */
    previousValue: number | null;
  };
}

export interface LeaderboardRewarded {
  /** Type of the message. */
  type: "leaderboard.rewarded";
  /** The user at the reported time. */
  user: User;
  /** The leaderboard. */
  leaderboard: {
    /** ID of the leaderboard. */
    id: string;
    /** Name of the leaderboard. */
    name: string;
    /** Key of the leaderboard. */
    key: string;
    /** What the board ranks by. */
    rankBy: "points" | "streak" | "metric";
    /** What a score is of the events of a run: the highest (max), lowest (min) or last value; absent: the sum. */
    aggregate?: "max" | "min" | "last";
    /** `ascending`: the lowest score is first; absent: the highest. */
    order?: "ascending";
    /** `first`: of equal scores, the one reached earlier ranks higher; absent: they share a rank. */
    ties?: "first";
    /** Key of the event attribute with the secondary score, which decides between equal scores; absent: none. */
    secondaryAttributeKey?: string;
    /** Which secondary score is better: the lower one (`ascending`) or the higher one (`descending`). */
    secondaryOrder?: "ascending" | "descending";
    /** Key of the breakdown attribute of a board that has exactly one; null otherwise. */
    breakdownAttribute: string | null;
    /** User attributes that divide the leaderboard: one ranking for each combination of their values. */
    breakdownAttributes: string[];
    /** Key of the metric. */
    metricKey?: string;
    /** Name of the metric. */
    metricName?: string;
    /** Key of the points system. */
    pointsSystemKey?: string;
    /** Name of the points system. */
    pointsSystemName?: string;
    /** Description of the leaderboard for users; null: none. */
    description: string | null;
    /** First day of the leaderboard. */
    start: string;
    /** Last day of the leaderboard; null: it has none. */
    end: string | null;
    /** Local time of day from which events count; null: all day. */
    startTime: string | null;
    /** Local time of day at which events stop counting; null: all day. */
    endTime: string | null;
    /** Maximum number of places; null: unlimited. */
    maxParticipants: number | null;
    /** Unit of a run’s length; null: one run for ever. */
    runUnit: ("day" | "month" | "year") | null;
    /** Length of a run in `runUnit`s; null: one run for ever. */
    runInterval: number | null;
    /** The user’s value of it; null otherwise. */
    breakdownAttributeValue?: string;
    /** The user’s values of the board’s breakdown attributes. */
    breakdownAttributeValues?: AttributeValue[];
    /** Status of the leaderboard, by its days. */
    status: "active" | "scheduled" | "finished";
    /** Place on the board, 1 being the first; null: not on it. Equal scores share a rank, unless the leaderboard has `ties`. */
    rank: number;
    /** The user’s score; null: there is none. */
    value: number;
    /** Rewards that users pay for with points. */
    rewards: {
      /** Points. */
      points: {
        [key: string]: number;
      };
      /** The achievements. */
      achievements: string[];
    };
  };
}

export interface LeaderboardTierChanged {
  /** Type of the message. */
  type: "leaderboard.tier_changed";
  /** The user at the reported time. */
  user: User;
  /** The leaderboard. */
  leaderboard: {
    /** ID of the leaderboard. */
    id: string;
    /** Name of the leaderboard. */
    name: string;
    /** Key of the leaderboard. */
    key: string;
    /** What the board ranks by. */
    rankBy: "points" | "streak" | "metric";
    /** What a score is of the events of a run: the highest (max), lowest (min) or last value; absent: the sum. */
    aggregate?: "max" | "min" | "last";
    /** `ascending`: the lowest score is first; absent: the highest. */
    order?: "ascending";
    /** `first`: of equal scores, the one reached earlier ranks higher; absent: they share a rank. */
    ties?: "first";
    /** Key of the event attribute with the secondary score, which decides between equal scores; absent: none. */
    secondaryAttributeKey?: string;
    /** Which secondary score is better: the lower one (`ascending`) or the higher one (`descending`). */
    secondaryOrder?: "ascending" | "descending";
    /** Key of the breakdown attribute of a board that has exactly one; null otherwise. */
    breakdownAttribute: string | null;
    /** User attributes that divide the leaderboard: one ranking for each combination of their values. */
    breakdownAttributes: string[];
    /** Key of the metric. */
    metricKey?: string;
    /** Name of the metric. */
    metricName?: string;
    /** Key of the points system. */
    pointsSystemKey?: string;
    /** Name of the points system. */
    pointsSystemName?: string;
    /** Description of the leaderboard for users; null: none. */
    description: string | null;
    /** First day of the leaderboard. */
    start: string;
    /** Last day of the leaderboard; null: it has none. */
    end: string | null;
    /** Local time of day from which events count; null: all day. */
    startTime: string | null;
    /** Local time of day at which events stop counting; null: all day. */
    endTime: string | null;
    /** Maximum number of places; null: unlimited. */
    maxParticipants: number | null;
    /** Unit of a run’s length; null: one run for ever. */
    runUnit: ("day" | "month" | "year") | null;
    /** Length of a run in `runUnit`s; null: one run for ever. */
    runInterval: number | null;
    /** Status of the leaderboard, by its days. */
    status: "active" | "scheduled" | "finished";
    /** Whether the user moved up or down. */
    move: "up" | "down";
    /** The tier after the move. */
    tier: {
      /** Number of the tier; 1 is the lowest. */
      number: number;
      /** Name of the tier. */
      name: string;
      /** Badge of the tier; null or absent: it has none. */
      badge: {
        /** Address of the picture. */
        url: string;
      } | null;
    };
    /** The tier before the move. */
    previousTier: {
      /** Number of the tier; 1 is the lowest. */
      number: number;
      /** Name of the tier. */
      name: string;
      /** Badge of the tier; null or absent: it has none. */
      badge: {
        /** Address of the picture. */
        url: string;
      } | null;
    };
    /** Place on the board, 1 being the first; null: not on it. Equal scores share a rank, unless the leaderboard has `ties`. */
    rank: number | null;
  };
}

export interface UserMerged {
  /** Type of the message. */
  type: "user.merged";
  /** The user at the reported time. */
  user: User;
  /** The merge. */
  merge: {
    /** The ID of the user who is gone. It stands for the other user from now on. */
    from: string;
    /** The ID of the user who remains. */
    into: string;
    /** When the users were merged. */
    mergedAt: string;
  };
}

export interface EmailsRecapDue {
  /** Type of the message. */
  type: "emails.recap_due";
  /** When it became due. */
  timestamp: string;
  /** The user at the reported time. */
  user: User;
  /** The period that the recap is about. */
  recap: {
    /** First local day of the period. */
    periodStart: string;
    /** Last local day of the period. */
    periodEnd: string;
  };
}

export interface EmailsReactivationDue {
  /** Type of the message. */
  type: "emails.reactivation_due";
  /** When it became due. */
  timestamp: string;
  /** The user at the reported time. */
  user: User;
  /** How long the user has been away. */
  reactivation: {
    /** Number of the message in this absence, 1 to 5. */
    messageNumber: number;
    /** Days since the user’s last event. */
    daysSinceLastActive: number;
  };
}

export interface EmailsStreakReminderDue {
  /** Type of the message. */
  type: "emails.streak_reminder_due";
  /** When it became due. */
  timestamp: string;
  /** The user at the reported time. */
  user: User;
  /** The current streak. */
  streak: Streak;
}

export interface EmailsAchievementDue {
  /** Type of the message. */
  type: "emails.achievement_due";
  /** When it became due. */
  timestamp: string;
  /** The user at the reported time. */
  user: User;
  /** The achievement that was completed. */
  achievement: CompletedAchievement;
}

export interface WebPushKey {
  /** The public VAPID key in base64url: the `applicationServerKey` of a subscription; null: the tenant sends no Web Push. */
  publicKey: string | null;
}

export interface ErrorBody {
  /** What is wrong, for a person. The text may change. */
  error: string;
  /** A stable identifier, to branch on. There may be more of them later than `malformed`, `invalid_json`, `invalid`, `missing_key`, `invalid_key`, `unauthorized`, `forbidden`, `insufficient_scope`, `not_found`, `unknown_path`, `method_not_allowed`, `conflict`, `insufficient_balance`, `sold_out`, `claim_limit`, `payload_too_large`, `unsupported_media_type`, `unprocessable`, `tenant_required`, `out_of_points`, `refused_by_guard`, `too_much_work`, `too_many_requests`, `too_many_wrong_keys`, `headers_too_large`, `internal`, `unavailable`, `overloaded`, `storage_full`. */
  code: string;
  /** What may help, for a person, e.g. a similar key that exists. */
  hint?: string;
  /** With `insufficient_balance`: what the user can spend. */
  balance?: number;
}

export interface BatchEvent {
  /** Key of the metric. */
  key: string;
  /** The user. Fields that are sent replace the stored ones, the others stay. */
  user: UserRequest;
  /** Amount to add to the user’s total; may be negative. */
  value: number;
  /** Values by the keys of attributes. */
  attributes?: {
    [key: string]: string;
  };
  /** When it happened, as ISO 8601 with an offset; left out: now. */
  occurredAt?: string;
  /** At most 256 bytes of JSON, shown with the user’s entry on leaderboards with `keepsMetadata` whose score the event changes. Everyone who may read such a leaderboard sees it. */
  metadata?: {
    [key: string]: unknown;
  };
  /** The event with this key is processed once. Without one, it counts again if the batch is repeated. */
  idempotencyKey?: string;
}

export interface BatchResults {
  /** Number of accepted events. */
  accepted: number;
  /** One result per event, in the same order. */
  results: BatchResult[];
}

export interface BatchResult {
  /** The status that a request with this event alone would get. */
  status: number;
  /** ID of the event. */
  eventId?: string;
  /** The user’s total of the metric after the event. */
  total?: number;
  /** True: the event’s key was used before, and nothing was changed. */
  replayed?: boolean;
  /** True: the first event with this key had another value, other attributes or another `occurredAt`. Known for at least 7 days after that event; otherwise the field is missing. */
  idempotencyConflict?: boolean;
  /** What a guard of the metric did to the event; missing if no guard did anything. */
  guarded?: GuardedEvent;
  /** What is wrong. */
  error?: string;
  /** Code of the error, as in error bodies; missing if the event was not refused. */
  code?: string;
}

export interface UserKeyRequest {
  /** Your own ID of the user whose key it is. */
  userId: string;
  /** What the key may do. */
  scope?: ("all" | "read" | "events" | "profile") | null;
  /** From when on the key is refused; null: never. */
  expiresAt?: string | null;
  /** Requests a second of the key, with bursts of four seconds’ worth; 0: any number; null: the organisation’s limit. */
  rateLimit?: number | null;
}

export interface UserKey {
  /** ID of the key. */
  id: string;
  /** Your own ID of the user. */
  userId: string;
  /** The whole key; only this answer has it. */
  key: string;
  /** The readable part of the key: safe to show. */
  prefix: string;
  /** What the key may do. */
  scope?: "all" | "read" | "events" | "profile";
  /** From this time on the key is refused; null: never. */
  expiresAt?: string;
  /** Requests a second of an application key, with bursts of four seconds’ worth; 0: any number; null: the organisation’s limit. */
  rateLimit?: number;
}

export interface SummaryQuery {
  /** Length of the periods of the answer. */
  aggregation: "daily" | "weekly" | "monthly";
  /** First local day. */
  startDate: string;
  /** Last local day. */
  endDate: string;
}

export interface StreakRankingsQuery {
  /**
   * Maximum number of users in the answer.
   * @default 10
   */
  limit?: number;
  /**
   * `active`: by the length now; `longest`: by the longest length that a user ever had.
   * @default active
   */
  type?: "active" | "longest";
}

export interface LeaderboardQuery {
  /**
   * How many places to skip.
   * @default 0
   */
  offset?: number;
  /**
   * Maximum number of places in the answer.
   * @default 10
   */
  limit?: number;
  /** First day of the run to show; by default the current run. */
  run?: string;
  /** The page shows the places around this user; `offset` then counts from there. */
  userId?: string;
  /** The group of a leaderboard with breakdown attributes: `key:value`, repeated for several, or several in one, separated by commas. */
  userAttributes?: string | string[];
}

export interface TeamsQuery {
  /**
   * How many places to skip.
   * @default 0
   */
  offset?: number;
  /**
   * Maximum number of teams in the answer.
   * @default 10
   */
  limit?: number;
  /** First day of the run to show; by default the current run. */
  run?: string;
  /** The page shows the places around this team; `offset` then counts from there. */
  team?: string;
}

export interface UserLeaderboardQuery {
  /** First day of the run to show; by default the current run. */
  run?: string;
  /**
   * Maximum number of entries in `history`.
   * @default 10
   */
  numEvents?: number;
}

export interface ClaimsQuery {
  /**
   * Maximum number of claims in the answer.
   * @default 20
   */
  limit?: number;
  /** `nextCursor` of the previous page. */
  cursor?: string;
  /** Only claims in this state. */
  state?: "claimed" | "fulfilled" | "cancelled";
}

/** The content of webhooks and live messages, by their types. */
export interface Messages {
  "achievement.completed": AchievementCompleted;
  "streak.started": StreakStarted;
  "streak.extended": StreakExtended;
  "streak.lost": StreakLost;
  "streak.freeze_consumed": StreakFreezeConsumed;
  "streak.freeze_earned": StreakFreezeEarned;
  "points.changed": PointsChanged;
  "points.level_changed": PointsLevelChanged;
  "points.spent": PointsSpent;
  "points.refunded": PointsRefunded;
  "points.expiring": PointsExpiring;
  "points.expired": PointsExpired;
  "points.boost_started": PointsBoostStarted;
  "points.boost_finished": PointsBoostFinished;
  "reward.claimed": RewardClaimed;
  "reward.fulfilled": RewardFulfilled;
  "reward.cancelled": RewardCancelled;
  "leaderboard.started": LeaderboardStarted;
  "leaderboard.changed": LeaderboardChanged;
  "leaderboard.finished": LeaderboardFinished;
  "leaderboard.rank_changed": LeaderboardRankChanged;
  "leaderboard.rewarded": LeaderboardRewarded;
  "leaderboard.tier_changed": LeaderboardTierChanged;
  "user.merged": UserMerged;
  "emails.recap_due": EmailsRecapDue;
  "emails.reactivation_due": EmailsReactivationDue;
  "emails.streak_reminder_due": EmailsStreakReminderDue;
  "emails.achievement_due": EmailsAchievementDue;
}

/** The codes of Laurel's errors. There may be more of them later. */
export type ErrorCode = "malformed" | "invalid_json" | "invalid" | "missing_key" | "invalid_key" | "unauthorized" | "forbidden" | "insufficient_scope" | "not_found" | "unknown_path" | "method_not_allowed" | "conflict" | "insufficient_balance" | "sold_out" | "claim_limit" | "payload_too_large" | "unsupported_media_type" | "unprocessable" | "tenant_required" | "out_of_points" | "refused_by_guard" | "too_much_work" | "too_many_requests" | "too_many_wrong_keys" | "headers_too_large" | "internal" | "unavailable" | "overloaded" | "storage_full";
