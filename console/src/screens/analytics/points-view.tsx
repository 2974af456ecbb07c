import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { triggersQuery } from '../../api/queries.ts';
import { useNamed } from '../../api/use-named.ts';
import { EditLink } from '../../resource/edit-link.tsx';
import { causeText, triggerRule } from '../../rule-text.ts';
import { buttonLook } from '../../ui/button.tsx';
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
const BALANCE_NOTE =
  'Balance: points awarded less points taken, spent, held and expired since the beginning; deleted users stay counted. A hold that ends by itself counts until the end of that day.';

function AllSystems() {
  const points = useQuery(pointsQuery(useAsked().query));
  return (
    <Read query={points}>
      {({ systems, from, to }) => (
        <Saved title="Points systems" file={`points-${from}-${to}`} rows={systems} note={BALANCE_NOTE}>
          <FigureTable
            label="Points systems"
            head={['Points system', ...HEAD, 'Spent', 'Refunded', 'Expired', 'Held', 'Balance']}
            rows={systems.map(({ id, name, ...all }) => ({
              key: id,
              cells: [
                <Chosen key="name" id={id} name={name} />,
                ...[all.awarded, all.awardedBefore, all.taken, all.takenBefore].map(number),
                ...[all.spent, all.refunded, all.expired, all.held, all.balance].map(number),
              ],
            }))}
          />
        </Saved>
      )}
    </Read>
  );
}

/** What each trigger awards points for, by its ID, so that two triggers of a type can be told apart. */
function useCauses(systemId: string): Map<string | null, string> {
  const named = useNamed();
  const triggers = useQuery(triggersQuery(systemId)).data ?? [];
  return new Map(triggers.map((trigger) => [trigger.id, causeText(triggerRule(trigger, named))]));
}

function OneSystem({ id }: { id: string }) {
  const causes = useCauses(id);
  const system = useQuery(pointsSystemQuery(id, useAsked().query));
  return (
    <Read query={system}>
      {({ name, key, from, to, days, triggers, ranges, levels, ...all }) => {
        const file = `${key}-${from}-${to}`;
        const dates = days.map(({ date }) => date);
        return (
          <>
            <Back to="Points" name={name}>
              <Link to="/points/$id" params={{ id }} className={`${buttonLook()} max-md:h-11`}>
                Triggers and levels
              </Link>
              <EditLink to="/points" id={id} />
            </Back>
            <Figures
              of={[
                { name: 'Awarded', now: all.awarded, before: all.awardedBefore },
                { name: 'Taken', now: all.taken, before: all.takenBefore },
                { name: 'Balance of all users', now: all.balance },
                { name: 'Spent', now: all.spent, before: all.spentBefore },
                { name: 'Refunded', now: all.refunded, before: all.refundedBefore },
                { name: 'Expired', now: all.expired, before: all.expiredBefore },
                { name: 'Held', now: all.held },
              ]}
            />
            <TimeChart
              title="Awarded per day"
              file={`${file}-awarded`}
              of="awarded"
              before="awardedBefore"
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
                  cause: causes.get(trigger.id) ?? null,
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
                    trigger.type === null ? 'Deleted or imported' : (causes.get(trigger.id) ?? trigger.type),
                    ...[trigger.awards, trigger.awarded, trigger.awardedBefore, trigger.taken, trigger.takenBefore].map(
                      number,
                    ),
                  ],
                }))}
              />
            </Saved>
            <div className="grid gap-4 md:grid-cols-2">
              <TimeChart
                title="Balance of all users"
                file={`${file}-balance`}
                of="balance"
                rows={days}
                note={BALANCE_NOTE}
              />
              <TimeChart
                title="Spent per day"
                file={`${file}-spent`}
                of="spent"
                rows={days}
                note="At once or by capturing a hold. The file has refunds, held and expired points of each day, too."
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
