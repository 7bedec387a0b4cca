// A table with headings, of which the first rows are shown until more are asked for.
import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import { More, Note } from "./basics";

export interface TableColumn<Row> {
  title: ComponentChildren;
  cell(row: Row): ComponentChildren;
  /** Of the heading and the cells: numeric, wide, span, minor. */
  class?: string;
}

interface TableProps<Row> {
  label: string;
  rows: readonly Row[];
  /** The cells of the first one are headings of their rows. */
  columns: readonly TableColumn<Row>[];
  keyOf(row: Row): string;
  /** The number of rows that are shown first. */
  first?: number;
  /** What is written if there are no rows. */
  empty?: string;
  /** Of the element around the table. */
  class?: string;
}

export function Table<Row>({ label, rows, columns, keyOf, first = 50, empty, ...rest }: TableProps<Row>) {
  const [shown, setShown] = useState(first);
  if (!rows.length && empty) return <Note>{empty}</Note>;
  const [heading, ...others] = columns;
  return (
    <>
      <div class={rest.class ?? "scroll"} tabIndex={0} role="group" aria-label={label}>
        <table>
          <thead>
            <tr>
              {columns.map((column, at) => (
                <th scope="col" class={column.class} key={at}>
                  {column.title}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {rows.slice(0, shown).map((row) => (
              <tr key={keyOf(row)}>
                <th scope="row" class={heading?.class}>
                  {heading?.cell(row)}
                </th>
                {others.map((column, at) => (
                  <td class={column.class} key={at}>
                    {column.cell(row)}
                  </td>
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      <More total={rows.length} shown={shown} show={() => setShown(rows.length)} />
    </>
  );
}
