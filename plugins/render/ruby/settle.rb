# Between the rehearsals: all existing objects stay in the snapshot, and objects of calls get separate pages.

Process.warmup

# A call makes some thousand objects. On separate pages they touch little memory; in the holes between the objects of the snapshot they would touch
# nearly all of it, and the host has to reset every page that a call has touched.
GC.disable
module Boson
  # Bytes of strings that just fit into the slots of each of Ruby's heaps, and how many objects of a size a call may make at least
  # before Ruby collects garbage, which costs more than most renderings.
  ROOM = { 7 => 40_000, 31 => 20_000, 79 => 8_000, 175 => 2_000, 367 => 500 }.freeze
  HOLES = ROOM.keys.each_with_index.map do |bytes, heap|
    slots = GC.stat_heap(heap)
    free = slots[:heap_eden_slots] - slots[:total_allocated_objects] + slots[:total_freed_objects]
    Array.new(free) { 'x' * bytes }
  end.freeze
  private_constant :ROOM, :HOLES
  ROOM.each { |bytes, objects| objects.times { 'x' * bytes } }
end
GC.enable
GC.start
