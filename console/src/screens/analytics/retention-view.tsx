import { useQuery } from '@tanstack/react-query';
import { counted, number, periodText } from '../../ui/format.ts';
import { metricsQuery as allMetricsQuery } from '../../api/queries.ts';
import { Labelled, SelectInput } from '../../ui/fields.tsx';
import { Panel } from '../../ui/parts.tsx';
import { useState } from 'react';
import { useAsked, useShown } from './controls.tsx';
import { FigureTable, Read, Saved } from './parts.tsx';
import { engagementQuery, retentionQuery, type Retention } from './queries.ts';
import { Options } from '../../ui/options.tsx';

const SHARE = new Intl.NumberFormat(undefined, { style: 'percent', maximumFractionDigits: 1 });
const POINTS = new Intl.NumberFormat(undefined, {
  style: 'percent',
  maximumFractionDigits: 1,
  signDisplay: 'exceptZero',
});
const SIGNED = new Intl.NumberFormat(undefined, { maximumFractionDigits: 2, signDisplay: 'exceptZero' });
const WEEKS_SHOWN = 12;

const shareText = (count: number, of: number): string => (of === 0 ? '–' : SHARE.format(Math.min(1, count / of)));

export function RetentionView() {
  const { segment } = useShown();
  const retention = useQuery(retentionQuery(useAsked().query));
  return (
    <Read query={retention}>
      {({ cohorts, comparison, returned, from, to }) => (
        <>
          <Saved
            title="Retention by weekly cohort"
            file={`retention-${from}-${to}`}
            rows={cohortRows(cohorts)}
            note={`Of the users first seen in a week: how many sent an event in that week, the next one and so on. The last week of a row may not be over yet. The deeper the colour, the more came back, from the lowest to the highest share after the first week.${
              isAttribute(segment) ? ' Users count with the value that they had when they were first seen.' : ''
            }`}
          >
            <Cohorts cohorts={cohorts} />
          </Saved>
          <Returned returned={returned} file={`returned-${from}-${to}`} />
          <Comparison
            name={segmentName(segment)}
            weeks={comparison}
            file={`retention-${segment ?? 'control'}-${from}-${to}`}
          />
          <Engagement />
        </>
      )}
    </Read>
  );
}

const cohortRows = (cohorts: Retention['cohorts']) =>
  cohorts.flatMap(({ date, users, weeks }) =>
    weeks.map((active, week) => ({ cohort: date, users, week, active, share: users === 0 ? null : active / users })),
  );

function Cohorts({ cohorts }: { cohorts: Retention['cohorts'] }) {
  const longest = Math.min(WEEKS_SHOWN, Math.max(0, ...cohorts.map(({ weeks }) => weeks.length)));
  const heads = Array.from({ length: longest }, (_, week) => `Week ${week}`);
  const depthOf = depths(cohorts);
  return (
    <FigureTable
      label="Retention by weekly cohort"
      head={['First seen', 'Users', ...heads]}
      rows={cohorts.map(({ date, users, weeks, isComplete }) => ({
        key: date,
        cells: [
          periodText(Date.parse(date), 'week'),
          number(users),
          ...heads.map((head, week) => {
            const active = weeks[week];
            if (active === undefined) return '';
            const isOpen = users > 0 && week === weeks.length - 1 && !isComplete;
            return (
              <Shade key={head} depth={week === 0 || users === 0 ? 0 : depthOf(active / users)}>
                {shareText(active, users)}
                {isOpen && <span title="Not over yet"> …</span>}
              </Shade>
            );
          }),
        ],
      }))}
    />
  );
}

function Returned({ returned, file }: { returned: Retention['returned']; file: string }) {
  return (
    <Saved
      title="Retention by day"
      file={file}
      rows={returned.map((each) => ({ ...each, share: each.users === 0 ? null : each.active / each.users }))}
      note="Of all cohorts above: how many of the users for whom that day is over sent an event on it. Days are UTC days."
    >
      <FigureTable
        label="Retention by day"
        head={['Days after the first', 'Users', 'Active', 'Share']}
        rows={returned.map(({ afterDays, users, active }) => ({
          key: String(afterDays),
          cells: [String(afterDays), number(users), number(active), shareText(active, users)],
        }))}
      />
    </Saved>
  );
}

/** Opacity of the lightest and of the deepest colour; text stays legible on both. */
const LIGHTEST = 0.06;
const DEEPEST = 0.45;

/**
 * The opacity of the colour for a share, from the lowest to the highest share that is shown. The first week of a cohort has none:
 * nearly all send an event in it, which would leave the others nearly alike. Nor do weeks that are not over widen the scale.
 */
function depths(cohorts: Retention['cohorts']): (share: number) => number {
  const shares = cohorts.flatMap(({ users, weeks, isComplete }) =>
    users === 0 ? [] : weeks.slice(1, isComplete ? WEEKS_SHOWN : -1).map((active) => active / users),
  );
  const low = Math.min(1, ...shares);
  const high = Math.max(0, ...shares);
  return (share) => {
    const place = high > low ? Math.min(1, Math.max(0, (share - low) / (high - low))) : 0;
    return LIGHTEST + place * (DEEPEST - LIGHTEST);
  };
}

const Shade = ({ depth, children }: { depth: number; children: React.ReactNode }) => (
  <span className="relative inline-block min-w-14 px-1.5 py-0.5">
    <span aria-hidden className="absolute inset-0 rounded bg-accent" style={{ opacity: depth }} />
    <span className="relative">{children}</span>
  </span>
);

const isAttribute = (segment: string | undefined): segment is string => segment?.includes(':') === true;

/** The name of the segment that is compared with all other users. */
const segmentName = (segment: string | undefined): string =>
  isAttribute(segment) ? segment : segment === 'others' ? 'Users outside the control group' : 'Control group';

function Comparison({ name, weeks, file }: { name: string; weeks: Retention['comparison']; file: string }) {
  return (
    <Saved
      title={`Retention compared: ${name}`}
      file={file}
      rows={weeks}
      note="All cohorts of the period that have users on both sides, in weeks that are over. The interval contains the true difference in 95 of 100 cases. After a change of the control share, choose a period that began later."
    >
      {weeks.length === 0 ? (
        <p className="text-muted">No week is over yet in which users of both sides were first seen.</p>
      ) : (
        <FigureTable
          label={`Retention compared: ${name}`}
          head={['Weeks later', name, 'All others', 'Difference', '95% interval']}
          rows={weeks.map((week) => ({
            key: String(week.week),
            cells: [
              String(week.week),
              `${shareText(week.segmentActive, week.segmentUsers)} of ${number(week.segmentUsers)}`,
              `${shareText(week.otherActive, week.otherUsers)} of ${number(week.otherUsers)}`,
              week.difference === null ? '–' : POINTS.format(week.difference),
              week.low === null ? '–' : `${POINTS.format(week.low)} to ${POINTS.format(week.high!)}`,
            ],
          }))}
        />
      )}
    </Saved>
  );
}

function Engagement() {
  const metrics = useQuery(allMetricsQuery).data ?? [];
  const [chosen, choose] = useState<string>();
  const metricId = chosen ?? metrics[0]?.id;
  if (metricId === undefined) return null;
  return (
    <>
      <div className="max-w-xs">
        <Labelled label="Metric for engagement">
          <SelectInput value={metricId} onChange={({ target }) => choose(target.value)}>
            <Options of={metrics.map(({ id, name }) => [id, name])} />
          </SelectInput>
        </Labelled>
      </div>
      <EngagementOf metricId={metricId} name={metrics.find(({ id }) => id === metricId)?.name ?? ''} />
    </>
  );
}

function EngagementOf({ metricId, name }: { metricId: string; name: string }) {
  const { range } = useAsked();
  const engagement = useQuery(engagementQuery({ ...range, metricId }));
  if (engagement.data === undefined)
    return (
      <Panel title={`${name} per active user`}>
        <Read query={engagement}>{() => null}</Read>
      </Panel>
    );
  const { control, others, difference, low, high, sampled } = engagement.data;
  const groups = [
    { group: 'Control group', ...control },
    { group: 'All others', ...others },
  ];
  return (
    <Saved
      title={`${name} per active user`}
      file={`engagement-${range.from}-${range.to}`}
      rows={groups}
      note={`The control group compared with all others, from the events of ${counted(sampled, 'user')}: all, or 1,500 of them.`}
    >
      <FigureTable
        label={`${name} per active user`}
        head={['Group', 'Active users', 'Value', 'Per active user']}
        rows={groups.map(({ group, activeUsers, value, perUser }) => ({
          key: group,
          cells: [group, number(activeUsers), number(value), perUser === null ? '–' : number(perUser)],
        }))}
      />
      <p className="mt-2">
        {difference === null
          ? 'Too few active users in one of the groups to compare them.'
          : `The control group has ${SIGNED.format(difference)} per active user, with a 95% interval of ${SIGNED.format(low!)} to ${SIGNED.format(high!)}.`}
      </p>
    </Saved>
  );
}
