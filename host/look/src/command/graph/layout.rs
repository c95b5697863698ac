//! Places for the nodes of a graph: in columns, so that arrows lead to the right, and few of them cross. Pure.

use std::collections::BTreeSet;

/// Between two columns: room for the names of links.
const COLUMN_GAP: i32 = 140;
/// Between two nodes of a column.
const ROW_GAP: i32 = 24;
/// Height of an arrow that passes a column.
const PASSING_HEIGHT: i32 = 8;
/// Passes over all columns that put nodes beside those that they are connected with.
const ORDER_PASSES: usize = 8;
/// Places where arrows may pass columns. With more, arrows may lead through nodes.
const MAX_PASSINGS: usize = 20_000;

/// Pixels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Size {
    pub width: i32,
    pub height: i32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Point {
    pub x: i32,
    pub y: i32,
}

#[derive(Debug, PartialEq, Eq)]
pub struct Layout {
    /// Upper left corners of the nodes.
    pub nodes: Vec<Point>,
    /// The points of each arrow, from its beginning to its end. None for one that leads to its own node.
    pub arrows: Vec<Vec<Point>>,
    pub size: Size,
}

/// An arrow, as positions of nodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Arrow {
    pub from: usize,
    pub to: usize,
}

/// Nodes, and places where arrows pass.
struct Columns {
    /// Positions of items, from above.
    all: Vec<Vec<usize>>,
    /// Of each item: those in the column before, and in the one after.
    before: Vec<Vec<usize>>,
    after: Vec<Vec<usize>>,
    /// The items of each arrow, from the left.
    chains: Vec<Vec<usize>>,
}

impl Layout {
    pub fn of(sizes: &[Size], arrows: &[Arrow]) -> Self {
        let rank = ranks(sizes.len(), arrows);
        let mut columns = Columns::of(&rank, arrows);
        columns.sort_columns();
        columns.place(sizes, arrows)
    }
}

/// The column of each node: one more than the columns of those before it. In a circle, an arrow leads back.
fn ranks(count: usize, arrows: &[Arrow]) -> Vec<usize> {
    let (mut rank, mut waits_for, mut after) = (vec![0; count], vec![0_usize; count], vec![Vec::new(); count]);
    let others: BTreeSet<&Arrow> = arrows.iter().filter(|arrow| arrow.from != arrow.to).collect();
    for arrow in others {
        waits_for[arrow.to] += 1;
        after[arrow.from].push(arrow.to);
    }
    let mut left: BTreeSet<usize> = (0..count).collect();
    while let Some(first) = left.first().copied() {
        let free = left.iter().find(|node| waits_for[**node] == 0);
        let node = free.copied().unwrap_or(first);
        left.remove(&node);
        // In a circle, what leads to a node that is placed leads back.
        for next in after[node].iter().filter(|next| left.contains(next)) {
            rank[*next] = rank[*next].max(rank[node] + 1);
            waits_for[*next] -= 1;
        }
    }
    rank
}

/// Notes the positions of the items of a column.
fn record_positions(column: &[usize], position: &mut [usize]) {
    for (at, item) in column.iter().enumerate() {
        position[*item] = at;
    }
}

// === impl Columns ===

impl Columns {
    fn of(rank: &[usize], arrows: &[Arrow]) -> Self {
        let mut columns = Self {
            all: vec![Vec::new(); rank.iter().max().map_or(0, |last| last + 1)],
            before: vec![Vec::new(); rank.len()],
            after: vec![Vec::new(); rank.len()],
            chains: Vec::new(),
        };
        for (node, column) in rank.iter().enumerate() {
            columns.all[*column].push(node);
        }
        for Arrow { from, to } in arrows {
            let (left, right) = if rank[*from] <= rank[*to] {
                (*from, *to)
            } else {
                (*to, *from)
            };
            let mut chain = vec![left];
            for column in rank[left] + 1..rank[right] {
                let item = columns.before.len();
                if item - rank.len() >= MAX_PASSINGS {
                    break;
                }
                columns.before.push(Vec::new());
                columns.after.push(Vec::new());
                columns.all[column].push(item);
                chain.push(item);
            }
            chain.push(right);
            for pair in chain.windows(2).filter(|_| left != right) {
                columns.after[pair[0]].push(pair[1]);
                columns.before[pair[1]].push(pair[0]);
            }
            columns.chains.push(chain);
        }
        columns
    }

    /// Sorts each column by the mean position of the neighbors, from the left and from the right in turn.
    fn sort_columns(&mut self) {
        let mut position = vec![0; self.before.len()];
        self.all
            .iter()
            .for_each(|column| record_positions(column, &mut position));
        for pass in 0..ORDER_PASSES {
            let from_left = pass % 2 == 0;
            let neighbors = if from_left { &self.before } else { &self.after };
            let count = self.all.len();
            for nth in 0..count {
                let column = &mut self.all[if from_left { nth } else { count - 1 - nth }];
                let mean = |item: &usize| {
                    let near = &neighbors[*item];
                    let sum: usize = near.iter().map(|one| position[*one] * POSITION_SCALE).sum();
                    sum.checked_div(near.len()).unwrap_or(position[*item] * POSITION_SCALE)
                };
                column.sort_by_cached_key(mean);
                record_positions(column, &mut position);
            }
        }
    }

    fn place(&self, sizes: &[Size], arrows: &[Arrow]) -> Layout {
        let passing = Size {
            width: 0,
            height: PASSING_HEIGHT,
        };
        let size = |item: usize| sizes.get(item).copied().unwrap_or(passing);
        let height_of = |column: &Vec<usize>| {
            let heights: i32 = column.iter().map(|item| size(*item).height + ROW_GAP).sum();
            heights - ROW_GAP
        };
        let height = self.all.iter().map(height_of).max().unwrap_or(0);
        let mut corners = vec![Point { x: 0, y: 0 }; self.before.len()];
        let mut x = 0;
        for column in &self.all {
            let mut y = (height - height_of(column)) / 2;
            let width = column.iter().map(|item| size(*item).width).max().unwrap_or(0);
            for item in column {
                let own = size(*item);
                corners[*item] = Point {
                    x: x + (width - own.width) / 2,
                    y,
                };
                y += own.height + ROW_GAP;
            }
            x += width + COLUMN_GAP;
        }
        let edge = |item: usize, is_right: bool| Point {
            x: corners[item].x + if is_right { size(item).width } else { 0 },
            y: corners[item].y + size(item).height / 2,
        };
        let route = |(chain, arrow): (&Vec<usize>, &Arrow)| {
            let (Some(first), Some(last)) = (chain.first(), chain.last()) else {
                return Vec::new();
            };
            if first == last {
                return Vec::new();
            }
            let passed = chain[1..chain.len() - 1].iter().map(|item| edge(*item, false));
            let mut points: Vec<Point> = [edge(*first, true)].into_iter().chain(passed).collect();
            points.push(edge(*last, false));
            if arrow.from != *first {
                points.reverse();
            }
            points
        };
        Layout {
            arrows: self.chains.iter().zip(arrows).map(route).collect(),
            nodes: corners[..sizes.len()].to_vec(),
            size: Size {
                width: (x - COLUMN_GAP).max(0),
                height,
            },
        }
    }
}

/// Means of positions are whole numbers.
const POSITION_SCALE: usize = 1 << 10;

#[cfg(test)]
mod tests {
    use super::*;

    const NODE: Size = Size { width: 80, height: 40 };

    fn arrows<const N: usize>(ends: [(usize, usize); N]) -> [Arrow; N] {
        ends.map(|(from, to)| Arrow { from, to })
    }

    #[test]
    fn arrows_lead_to_the_right_but_for_one_of_a_circle() {
        assert_eq!(ranks(4, &arrows([(0, 1), (1, 2), (0, 2), (3, 2)])), [0, 1, 2, 0]);
        assert_eq!(ranks(3, &arrows([(0, 1), (1, 2), (2, 0), (1, 1)])), [0, 1, 2]);
        let layout = Layout::of(&[NODE; 3], &arrows([(0, 1), (1, 2), (2, 0), (1, 1)]));
        let back = &layout.arrows[2];
        assert!(back.first().unwrap().x > back.last().unwrap().x, "{back:?}");
        assert_eq!(layout.arrows[3], []);
    }

    #[test]
    fn connected_nodes_are_beside_each_other() {
        let layout = Layout::of(&[NODE; 4], &arrows([(0, 3), (1, 2)]));
        assert!(layout.nodes[3].y < layout.nodes[2].y, "{layout:?}");
    }

    #[test]
    fn nodes_do_not_overlap() {
        let mut random = 1_u32;
        let mut next = |limit: usize| {
            random = random.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            usize::try_from(random >> 16).unwrap() % limit
        };
        for _ in 0..200 {
            let count = 1 + next(12);
            let ends = (0..next(30)).map(|_| (next(count), next(count)));
            let arrows: Vec<Arrow> = ends.map(|(from, to)| Arrow { from, to }).collect();
            let layout = Layout::of(&vec![NODE; count], &arrows);
            assert_eq!(layout.arrows.len(), arrows.len());
            for (at, one) in layout.nodes.iter().enumerate() {
                assert!(one.x >= 0 && one.x + NODE.width <= layout.size.width, "{layout:?}");
                assert!(one.y >= 0 && one.y + NODE.height <= layout.size.height, "{layout:?}");
                for other in &layout.nodes[..at] {
                    let is_apart = (one.x - other.x).abs() >= NODE.width || (one.y - other.y).abs() >= NODE.height;
                    assert!(is_apart, "{one:?} {other:?}");
                }
            }
        }
    }
}
