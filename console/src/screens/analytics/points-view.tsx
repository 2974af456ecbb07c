import { useQuery } from '@tanstack/react-query';
import { number } from '../../ui/format.ts';
import { useAsked, useShown } from './controls.tsx';
import { Distribution, FigureTable, Figures, Read, Saved, TimeChart } from './parts.tsx';
import { pointsQuery, pointsSystemQuery } from './queries.ts';
import { Back, Chosen } from './resource-link.tsx';

export function PointsView() {
  const { id } = useShown();
  return id === undefined ? <AllSystems /> : <OneSystem id={id} />;
}

const HEAD = ['Awarded', 'Awarded before', 'Taken', 'Taken before'];

function AllSystems() {
  const points = useQuery(pointsQuery(useAsked().query));
  return (
    <Read query={points}>
      {({ systems, from, to }) => (
        <Saved
          title="Points systems"
          file={`points-${from}-${to}`}
          rows={systems}
          note="Outstanding: points awarded less points taken since the beginning. Points of deleted users stay in it."
        >
          <FigureTable
            label="Points systems"
            head={['Points system', ...HEAD, 'Outstanding']}
            rows={systems.map(({ id, name, awarded, awardedBefore, taken, takenBefore, net }) => ({
              key: id,
              cells: [
                <Chosen key="name" id={id} name={name} />,
                ...[awarded, awardedBefore, taken, takenBefore, net].map(number),
              ],
            }))}
          />
        </Saved>
      )}
    </Read>
  );
}

function OneSystem({ id }: { id: string }) {
  const system = useQuery(pointsSystemQuery(id, useAsked().query));
  return (
    <Read query={system}>
      {({ name, key, from, to, days, triggers, ranges, levels, ...all }) => {
        const file = `${key}-${from}-${to}`;
        const dates = days.map(({ date }) => date);
        return (
          <>
            <Back to="Points" name={name} />
            <Figures
              of={[
                { name: 'Awarded', now: all.awarded, before: all.awardedBefore },
                { name: 'Taken', now: all.taken, before: all.takenBefore },
                { name: 'Outstanding', now: days.at(-1)?.net ?? 0 },
              ]}
            />
            <TimeChart
              title="Awarded per day"
              file={`${file}-awarded`}
              dates={dates}
              values={days.map(({ awarded }) => awarded)}
              before={days.map(({ awardedBefore }) => awardedBefore)}
              rows={days}
              note="By the users’ local days. The dashed line is the previous period."
            />
            <Saved
              title="By trigger"
              file={`${file}-triggers`}
              rows={triggers.flatMap((trigger) =>
                dates.map((date, day) => ({
                  trigger: trigger.id,
                  type: trigger.type,
                  date,
                  awarded: trigger.days[day] ?? 0,
                })),
              )}
              note="The file has each trigger’s points of each day."
            >
              <FigureTable
                label="Points by trigger"
                head={['Trigger', 'Awards', ...HEAD]}
                rows={triggers.map((trigger) => ({
                  key: trigger.id ?? '',
                  cells: [
                    trigger.type === null ? 'Deleted or imported' : trigger.type.replaceAll('_', ' '),
                    ...[trigger.awards, trigger.awarded, trigger.awardedBefore, trigger.taken, trigger.takenBefore].map(
                      number,
                    ),
                  ],
                }))}
              />
            </Saved>
            <div className="grid gap-4 md:grid-cols-2">
              <TimeChart
                title="Outstanding points"
                file={`${file}-outstanding`}
                dates={dates}
                values={days.map(({ net }) => net)}
                rows={days}
              />
              <Saved title="Users by points" file={`${file}-ranges`} rows={ranges} note="Current figures.">
                <Distribution
                  rows={ranges.map((range) => ({
                    name: range.from === range.to ? number(range.from) : `${number(range.from)} to ${number(range.to)}`,
                    count: range.users,
                  }))}
                />
              </Saved>
              {levels.length > 0 && (
                <Saved
                  title="Users by level"
                  file={`${file}-levels`}
                  rows={levels}
                  note="Current figures, of all users."
                >
                  <Distribution rows={levels.map((level) => ({ name: level.name, count: level.users }))} />
                </Saved>
              )}
            </div>
          </>
        );
      }}
    </Read>
  );
}
